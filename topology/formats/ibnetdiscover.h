// SPDX-License-Identifier: Apache-2.0
/// The output of ibnetdiscover (rdma-core, infiniband-diags) about an InfiniBand fabric.
///
/// Two forms are read, distinguished by the first line that is not a comment. The full form (ibnetdiscover,
/// also with -f, and with -g if that lists no node twice):
///
///   vendid=0x2c9
///   devid=0xd2f2
///   sysimgguid=0x2c5eab0300b87b40
///   switchguid=0x2c5eab0300b87b40(2c5eab0300b87b40)
///   Switch  65 "S-2c5eab0300b87b40"  # "MF0;leaf4:MQM9701/U1" enhanced port 0 lid 73 lmc 0
///   [1]     "H-e09d7303007a4bd8"[1](e09d7303007a4bd8)   # "node1 mlx5_5" lid 647 4xNDR
///
///   caguid=0xe09d7303007a4bd8                           (after vendid, devid, sysimgguid as above)
///   Ca      1 "H-e09d7303007a4bd8"   # "node1 mlx5_5"
///   [1](e09d7303007a4bd8)   "S-2c5eab0300b87b40"[1]     # lid 647 lmc 0 "MF0;leaf4:MQM9701/U1" lid 73 4xNDR
///
/// and the per-port form (ibnetdiscover -p), one line per port:
///
///   CA   647  1 0xe09d7303007a4bd8 4x NDR - SW    73  1 0x2c5eab0300b87b40 ( 'node1 mlx5_5' - 'leaf4' )
///
/// Not kept: comments, chassis headings of -g, and ports without a cable. The per-port form lacks the GUIDs
/// of adapters: that of the port listed first is used instead; vendor, device, lmc and system are 0.
/// Tests: tests/topology/ibnetdiscover_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/formats/link_speed.h"
#include "topology/formats/source.h"
#include "topology/model/graph.h"

namespace weir::topology {

enum class IbKind : uint8_t { fabric_switch, adapter, router };

/// One end of a cable, as listed by the node that has it.
struct IbPort {
  int number = 0;
  int external = 0;   ///< port number printed on the chassis (-g); 0: not given
  uint64_t guid = 0;  ///< GUID of this port, 0 for switches or if not given
  int lid = 0;        ///< LID of the port, 0 for switches
  int lmc = 0;
  IbKind peer_kind = IbKind::fabric_switch;
  uint64_t peer = 0;  ///< GUID of the node at the other end
  int peer_number = 0;
  int peer_external = 0;
  uint64_t peer_guid = 0;
  std::string peer_description;
  int peer_lid = 0;
  int width = 0;  ///< number of lanes in use; 0: unknown
  InfinibandSpeed speed = InfinibandSpeed::unknown;
  std::string attributes;  ///< attributes added by -f: "s=4 w=2 v=4 e=4"

  bool operator==(const IbPort&) const = default;
};

struct IbNode {
  IbKind kind = IbKind::fabric_switch;
  uint32_t vendor = 0;
  uint32_t device = 0;
  uint64_t system_guid = 0;  ///< equal for nodes of one machine or adapter; 0: not given
  uint64_t guid = 0;
  uint64_t port_guid = 0;  ///< switches only
  int port_count = 0;
  std::string description;
  bool enhanced_port_0 = false;  ///< switches only, like the fields below
  int lid = 0;
  int lmc = 0;
  std::vector<IbPort> ports;  ///< ports with a cable

  bool operator==(const IbNode&) const = default;
};

struct IbFabric {
  std::vector<IbNode> nodes;

  bool operator==(const IbFabric&) const = default;
};

/// Errors: text of neither form, truncated or with numbers out of range; a node or port listed twice; a cable
/// that only one end lists or that leads to an unknown node. Ignored with a note: chassis headings; in the
/// per-port form (whose output is often filtered) cables to nodes that have no line.
Result<IbFabric> read_ibnetdiscover(const Source& source, Notes* notes = nullptr);

/// Hosts with NICs and their ports, switches with levels, cables with their speed; parallel cables of one
/// speed between two switches are one link.
///
/// The first word of an adapter's description is its host and the second its NIC ("node7 mlx5_0"); any other
/// description is the host's name, and the NIC is named by its GUID. A switch's "MF0;leaf4:MQM9701/U1" is
/// "leaf4". Names that are not unique get the GUID appended.
///
/// Ignored with a note, or refused without notes: SHARP's aggregation nodes, routers, cables from a switch to
/// itself, different speeds at the two ends of a cable (the slower counts), hosts without a name of their
/// own. Errors: those of cables as in read_ibnetdiscover.
Result<Graph> graph_of(const IbFabric& fabric, Notes* notes = nullptr);

namespace ib {

/// Makes the error about a port of a node, or about the node itself (kNode).
using RefuseAt = std::function<Status(size_t node, size_t port, const std::string& sentence)>;
inline constexpr size_t kNode = SIZE_MAX;

inline constexpr uint64_t kMostGuid = UINT64_MAX;

/// A SHARP aggregation node: a helper inside a switch that reduces in the network.
bool is_aggregation_node(IbKind kind, std::string_view description);

/// Checks that every cable is listed by both ends, and nothing twice. Aggregation nodes themselves need not
/// be listed.
Status check(const IbFabric& fabric, const RefuseAt& refuse);

/// The line of each node and of each of its ports.
struct Places {
  std::vector<size_t> nodes;
  std::vector<std::vector<size_t>> ports;
};

Result<IbFabric> read_full(const Source& source, Notes* notes, Places& places);
Result<IbFabric> read_ports(const Source& source, Notes* notes, Places& places);

}  // namespace ib
}  // namespace weir::topology
