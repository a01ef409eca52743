// SPDX-License-Identifier: Apache-2.0
/// Selects the RDMA ports of this host and their addresses, and pairs them with the ports of a peer. Pure
/// functions, except for network_bits().
/// Tests: tests/transports/verbs_ports_test.cc
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "src/base/bytes.h"
#include "src/base/options.h"
#include "src/base/status.h"
#include "src/drivers/verbs.h"

namespace weir::verbs {

/// The GID of a port that is used, and a sentence with the reason.
struct GidChoice {
  drivers::VerbsGid gid;
  std::string why;
};

/// InfiniBand: the GID of NCCL_IB_GID_INDEX, or the first one. Ethernet: the GID of NCCL_IB_GID_INDEX if it
/// is set; else the first one of RoCE version NCCL_IB_ROCE_VERSION_NUM, in NCCL_IB_ADDR_RANGE, and of
/// NCCL_IB_ADDR_FAMILY; without a family, IPv4 before IPv6 and link-local last. Otherwise invalid_argument;
/// its message lists the available GIDs.
Result<GidChoice> choose_gid(const drivers::VerbsPort& port, const Options& options);

/// Whether NCCL_IB_HCA selects the port: a list of name[:port] with names as prefixes; a leading '^'
/// excludes, a leading '=' (or one after '^') means exact names.
bool passes_hca(const std::string& list, const drivers::VerbsPort& port);

/// A port that is used.
struct UsedPort {
  drivers::VerbsPort port;
  GidChoice choice;
};

/// The active ports that NCCL_IB_HCA selects and that have an address, by name; and a sentence for each port
/// that is not used.
struct PortChoice {
  std::vector<UsedPort> used;
  std::vector<std::string> left_out;
};
PortChoice choose_ports(std::vector<drivers::VerbsPort> found, const Options& options);

/// Properties of a port that a peer needs.
struct PortAddress {
  std::string name;  ///< name with port number: "mlx5_0:1"
  bool ethernet = false;
  bool routable = false;  ///< routable address (RoCE v2)
  bool near = false;  ///< one of the ports nearest to the rank's GPU; false: another port is nearer, or the
                      ///< distance is unknown
  uint16_t lid = 0;
  uint32_t mtu = 0;           ///< largest payload of a packet; bytes
  uint32_t network_bits = 0;  ///< length of the network prefix of the GID, in bits; 0: unknown
  double gigabits_per_s = 0;
  std::array<uint8_t, 16> gid{};

  void put(ByteWriter& writer) const;
  static PortAddress get(ByteReader& reader);
  /// Formats "mlx5_0:1 (10.0.0.1)".
  std::string text() const;
};

/// Formats "10.0.0.1", "fe80::1".
std::string gid_text(const std::array<uint8_t, 16>& gid);

/// Prefix length of the address of interface `gid.interface`, in bits of the GID; 64 on InfiniBand; 0 if the
/// interface does not report it.
uint32_t network_bits(const drivers::VerbsGid& gid);

/// Pairs (ours, theirs) of ports that can communicate, each port in at most one pair: ports of one network,
/// in the order of ours; pairs of ports near both GPUs if there are any, else those near one GPU. If there
/// are none, pairs Ethernet ports with routable addresses of one family, the first with the first and so on;
/// only near ports, if there are any.
std::vector<std::pair<size_t, size_t>> port_pairs(const std::vector<PortAddress>& ours,
                                                  const std::vector<PortAddress>& theirs);

}  // namespace weir::verbs
