// SPDX-License-Identifier: Apache-2.0
/// Which RDMA ports of this host are used, by which address, and which of them can talk to which ports of a
/// peer. Pure functions, but for network_bits().
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "src/base/bytes.h"
#include "src/base/options.h"
#include "src/drivers/verbs.h"
#include "weir/status.h"

namespace weir::verbs {

/// The address under which a port is used, and a sentence that says why this one.
struct GidChoice {
  drivers::VerbsGid gid;
  std::string why;
};

/// InfiniBand: NCCL_IB_GID_INDEX, or the first. Ethernet: what NCCL_IB_GID_INDEX says; else, of RoCE version
/// NCCL_IB_ROCE_VERSION_NUM, the first in NCCL_IB_ADDR_RANGE and of NCCL_IB_ADDR_FAMILY; where no family is
/// asked for, IPv4 before IPv6, link-local last. invalid_argument lists the addresses that there are.
Result<GidChoice> choose_gid(const drivers::VerbsPort& port, const Options& options);

/// True if NCCL_IB_HCA means the port: a list of name[:port] with names as prefixes; '^' first excludes, '='
/// first (or second) means exact names.
bool passes_hca(const std::string& list, const drivers::VerbsPort& port);

/// A port that is used.
struct UsedPort {
  drivers::VerbsPort port;
  GidChoice choice;
};

/// The active ports that NCCL_IB_HCA means and that have an address, by name; and a sentence for each port
/// that is not used.
struct PortChoice {
  std::vector<UsedPort> used;
  std::vector<std::string> left_out;
};
PortChoice choose_ports(std::vector<drivers::VerbsPort> found, const Options& options);

/// What a peer must know of a port.
struct PortAddress {
  std::string name;  ///< "mlx5_0:1"
  bool ethernet = false;
  bool routable = false;  ///< RoCE v2
  bool near = false;      ///< as near to the rank's GPU as any; false: to another, or nobody knows
  uint16_t lid = 0;
  uint32_t mtu = 0;           ///< bytes
  uint32_t network_bits = 0;  ///< how many bits of the GID name the network; 0: not known
  double gigabits_per_s = 0;
  std::array<uint8_t, 16> gid{};

  void put(ByteWriter& writer) const;
  static PortAddress get(ByteReader& reader);
  /// "mlx5_0:1 (10.0.0.1)".
  std::string text() const;
};

/// "10.0.0.1", "fe80::1".
std::string gid_text(const std::array<uint8_t, 16>& gid);

/// The length of the network's part of the address that interface `gid.interface` has, in bits of the GID; 64
/// on InfiniBand; 0 where the interface does not say.
uint32_t network_bits(const drivers::VerbsGid& gid);

/// Pairs (ours, theirs) of ports that can talk, each port in one pair: those of one network, in the order of
/// ours, between ports near the two GPUs where there are such, else those with one of them; if there is none,
/// Ethernet ports with routable addresses of one family, first with first and so on, near ones alone if there
/// are any.
std::vector<std::pair<size_t, size_t>> port_pairs(const std::vector<PortAddress>& ours,
                                                  const std::vector<PortAddress>& theirs);

}  // namespace weir::verbs
