// SPDX-License-Identifier: Apache-2.0
/// What ibnetdiscover (rdma-core, infiniband-diags) prints about an InfiniBand fabric.
///
/// Two forms are read, told apart by the first line that is no comment. The full one (ibnetdiscover, with
/// -f too, with -g where that lists no node twice):
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
/// and that of ports (ibnetdiscover -p), one line per port:
///
///   CA   647  1 0xe09d7303007a4bd8 4x NDR - SW    73  1 0x2c5eab0300b87b40 ( 'node1 mlx5_5' - 'leaf4' )
///
/// What is not kept: comments, chassis headings of -g, and ports without a cable. The form of ports lacks the
/// GUIDs of adapters: that of the port listed first stands for it; vendor, device, lmc and system are 0.
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

/// An end of a cable, as the node that has it lists it.
struct IbPort {
  int number = 0;
  int external = 0;   ///< what is printed at the chassis (-g); 0: not given
  uint64_t guid = 0;  ///< of this port, not of switches; 0: not given
  int lid = 0;        ///< not of switches
  int lmc = 0;
  IbKind peer_kind = IbKind::fabric_switch;
  uint64_t peer = 0;  ///< GUID of the node at the other end
  int peer_number = 0;
  int peer_external = 0;
  uint64_t peer_guid = 0;
  std::string peer_description;
  int peer_lid = 0;
  int width = 0;  ///< lanes as running; 0: not known
  InfinibandSpeed speed = InfinibandSpeed::unknown;
  std::string attributes;  ///< what -f adds: "s=4 w=2 v=4 e=4"

  bool operator==(const IbPort&) const = default;
};

struct IbNode {
  IbKind kind = IbKind::fabric_switch;
  uint32_t vendor = 0;
  uint32_t device = 0;
  uint64_t system_guid = 0;  ///< equal for what is one machine or adapter; 0: not given
  uint64_t guid = 0;
  uint64_t port_guid = 0;  ///< of switches
  int port_count = 0;
  std::string description;
  bool enhanced_port_0 = false;  ///< this and what follows: of switches
  int lid = 0;
  int lmc = 0;
  std::vector<IbPort> ports;  ///< those with a cable

  bool operator==(const IbNode&) const = default;
};

struct IbFabric {
  std::vector<IbNode> nodes;

  bool operator==(const IbFabric&) const = default;
};

/// Errors: text of neither form, cut off or with numbers out of range; a node or port listed twice; a cable
/// that only one end lists or that leads to an unknown node. Left out with a note: chassis headings; in the
/// form of ports (often filtered by whom it is for) cables to nodes that have no line.
Result<IbFabric> read_ibnetdiscover(const Source& source, Notes* notes = nullptr);

/// In the full form.
std::string write_ibnetdiscover(const IbFabric& fabric);

/// Hosts with NICs and their ports, switches with levels, cables with their speed; parallel cables of one
/// speed between two switches are one link.
///
/// The first word of an adapter's description is its host and the second its NIC ("node7 mlx5_0"); any other
/// description names the host, and the NIC is named by its GUID. A switch's "MF0;leaf4:MQM9701/U1" is
/// "leaf4". What cannot be told apart by name has its GUID behind it.
///
/// Left out with a note, refused without notes: SHARP's aggregation nodes, routers, cables from a switch to
/// itself, what two ends of a cable say differently about its speed (the slower counts), hosts that have no
/// name of their own. Errors: those of cables as in read_ibnetdiscover.
Result<Graph> graph_of(const IbFabric& fabric, Notes* notes = nullptr);

namespace ib {

/// Makes the error about a port of a node, or about the node itself (kNode).
using RefuseAt = std::function<Status(size_t node, size_t port, const std::string& sentence)>;
inline constexpr size_t kNode = SIZE_MAX;

inline constexpr uint64_t kMostGuid = UINT64_MAX;

/// A helper inside a switch that reduces in the network (SHARP).
bool is_aggregation_node(IbKind kind, std::string_view description);

/// That every cable is listed by both ends, and nothing twice. Aggregation nodes need not be listed
/// themselves.
Status check(const IbFabric& fabric, const RefuseAt& refuse);

/// Where each node and each port of it was read.
struct Places {
  std::vector<size_t> nodes;
  std::vector<std::vector<size_t>> ports;
};

Result<IbFabric> read_full(const Source& source, Notes* notes, Places& places);
Result<IbFabric> read_ports(const Source& source, Notes* notes, Places& places);

}  // namespace ib
}  // namespace weir::topology
