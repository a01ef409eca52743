// SPDX-License-Identifier: Apache-2.0
/// A machine or a cluster as a value: its devices, and the links between them.
///
/// Nodes form a tree of containment (a port in its NIC, the NIC below its PCIe switch, that below its NUMA
/// node, that in its host); links give the bandwidth from one node to another, in one direction each. Paths
/// between two nodes use links only.
///
/// A value: no I/O, no threads; different objects may be used by different threads.
/// Tests: tests/topology/model_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace weir::topology {

/// A node of a Graph: its index in Graph::nodes().
using Index = int32_t;
inline constexpr Index kNone = -1;

/// Kinds of nodes, in the order of Facts.
enum class NodeKind : uint8_t {
  host,
  package,    ///< a processor in its socket
  numa,       ///< a NUMA node
  bridge,     ///< a PCIe switch, a bridge or a root complex
  gpu,        ///< a GPU as programs see it; a GPU with several dies is several nodes
  partition,  ///< a share of a GPU (MIG) that programs see as a GPU
  nvswitch,   ///< a switch of NVLink
  nic,        ///< a network adapter: one PCI function or a virtual device
  port,       ///< a port of a NIC; network plugins call it a device
  fabric_switch
};
inline constexpr int kNodeKinds = 10;
const char* name(NodeKind kind);

/// A PCI function as the bus describes it. 0: unknown.
struct PciFacts {
  std::string address;  ///< "0000:3b:00.0"; empty: not on a PCI bus
  uint32_t class_code = 0;
  uint32_t vendor = 0;
  uint32_t device = 0;
  uint32_t subsystem_vendor = 0;
  uint32_t subsystem_device = 0;
  double gt_per_s = 0;       ///< current rate of one lane
  int width = 0;             ///< current number of lanes
  double most_gt_per_s = 0;  ///< maximum that both ends support
  int most_width = 0;

  bool operator==(const PciFacts&) const = default;
};

struct HostFacts {
  uint64_t identity = 0;   ///< different for different machines; 0: unknown
  std::string hypervisor;  ///< "kvm"; empty: no hypervisor known

  bool operator==(const HostFacts&) const = default;
};

/// The properties of a processor; names and numbers are those of CPUID and NCCL.
struct CpuFacts {
  std::string arch;    ///< "x86_64", "arm64", "ppc64"
  std::string vendor;  ///< "GenuineIntel"
  int family = -1;     ///< -1: unknown
  int model = -1;

  bool operator==(const CpuFacts&) const = default;
};

struct PackageFacts {
  int number = -1;
  CpuFacts cpu;
  std::string model_name;

  bool operator==(const PackageFacts&) const = default;
};

struct NumaFacts {
  int number = -1;       ///< the operating system's number
  std::string affinity;  ///< its logical processors: 32-bit words in hex, highest first, comma-separated
  CpuFacts cpu;
  uint64_t memory_bytes = 0;

  bool operator==(const NumaFacts&) const = default;
};

struct BridgeFacts {
  bool root = false;  ///< a root complex: traffic that turns here has passed the processor
  PciFacts pci;
  std::vector<std::string> peers;  ///< PCI addresses of switches in the same fabric (Broadcom)

  bool operator==(const BridgeFacts&) const = default;
};

struct GpuFacts {
  PciFacts pci;
  int device = -1;        ///< number in the vendor's library
  int rank = -1;          ///< rank in the communicator for which the description was made
  std::string arch;       ///< "sm_90", "gfx942"; empty: unknown
  int units = 0;          ///< number of compute units (AMD)
  uint32_t features = 0;  ///< HIP's mask of architecture features
  bool gdr = false;       ///< whether NICs may access its memory (GPUDirect RDMA)
  int package = -1;       ///< equal for GPUs that are dies of one package; -1: unknown
  std::string uuid;
  std::string model_name;

  bool operator==(const GpuFacts&) const = default;
};

struct PartitionFacts {
  int number = -1;
  std::string profile;  ///< "3g.40gb"
  std::string uuid;

  bool operator==(const PartitionFacts&) const = default;
};

struct NvSwitchFacts {
  PciFacts pci;  ///< no address: the switch is invisible from here

  bool operator==(const NvSwitchFacts&) const = default;
};

struct NicFacts {
  PciFacts pci;
  std::string model_name;

  bool operator==(const NicFacts&) const = default;
};

enum class PortLayer : uint8_t { unknown, ethernet, infiniband };

struct PortFacts {
  int device = -1;           ///< number in the network plugin
  int number = 1;            ///< number of the port on its NIC, from 1
  double mbit_per_s = 0;     ///< 0: unknown, or down
  double latency_us = 0;     ///< 0: unknown
  uint64_t guid = 0;         ///< equal for nodes that are the same physical port; 0: unknown
  int most_connections = 0;  ///< 0: unknown
  bool gdr = false;
  bool in_network_reduction = false;
  PortLayer layer = PortLayer::unknown;
  bool active = true;
  int lid = 0;
  int rail = -1;
  int plane = -1;

  bool operator==(const PortFacts&) const = default;
};

struct FabricSwitchFacts {
  int level = 0;  ///< 1: leaf, to which hosts are attached; 2: spine, and so on; 0: unknown
  uint64_t guid = 0;
  int ports = 0;  ///< number of ports; 0: unknown

  bool operator==(const FabricSwitchFacts&) const = default;
};

using Facts = std::variant<HostFacts, PackageFacts, NumaFacts, BridgeFacts, GpuFacts, PartitionFacts,
                           NvSwitchFacts, NicFacts, PortFacts, FabricSwitchFacts>;
static_assert(std::variant_size_v<Facts> == kNodeKinds);

struct Node {
  std::string name;      ///< usual name: "node7", "mlx5_0", a PCI address; unique among its siblings of
                         ///< the same kind
  Index parent = kNone;  ///< index of the node that contains it, smaller than its own
  Facts facts;

  NodeKind kind() const { return static_cast<NodeKind>(facts.index()); }
  bool operator==(const Node&) const = default;
};

enum class LinkKind : uint8_t {
  pci,
  cpu,  ///< between NUMA nodes: UPI, Infinity Fabric between sockets, or inside a socket
  nvlink,
  xgmi,   ///< Infinity Fabric between GPUs
  c2c,    ///< NVLink or Infinity Fabric between a GPU and its processor
  inner,  ///< inside one device: NIC and port, GPU and partition, dies; a host without contents and its NIC
  cable,  ///< a network cable
};
inline constexpr int kLinkKinds = 7;
const char* name(LinkKind kind);

/// A link in one direction. `count` parallel links of the same kind are one Link.
struct Link {
  Index from = kNone;
  Index to = kNone;
  LinkKind kind = LinkKind::pci;
  int count = 1;
  double gb_per_s = 0;    ///< 1e9 bytes per second, all `count` links together, before protocol overhead
  double latency_us = 0;  ///< 0: unknown
  int rail = -1;          ///< number of the rail; -1: none

  bool operator==(const Link&) const = default;
};

class Graph {
 public:
  /// Indices stay valid: nodes are never removed (see subgraph() in merge.h).
  Index add(Node node);
  Index add(std::string name, Index parent, Facts facts) {
    return add(Node{std::move(name), parent, std::move(facts)});
  }
  void add(const Link& link) { links_.push_back(link); }
  /// Adds the link and its reverse.
  void connect(const Link& link);

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Link>& links() const { return links_; }
  std::vector<Link>& links() { return links_; }
  Index size() const { return static_cast<Index>(nodes_.size()); }
  const Node& operator[](Index node) const { return nodes_[static_cast<size_t>(node)]; }
  Node& operator[](Index node) { return nodes_[static_cast<size_t>(node)]; }

  /// The facts of a node if it is of that kind, or null.
  template <typename T>
  const T* get(Index node) const {
    return std::get_if<T>(&nodes_[static_cast<size_t>(node)].facts);
  }
  template <typename T>
  T* get(Index node) {
    return std::get_if<T>(&nodes_[static_cast<size_t>(node)].facts);
  }

  /// All nodes of a kind, in order.
  std::vector<Index> all(NodeKind kind) const;
  /// The nearest node of that kind that contains `node`, which may be `node` itself; or kNone.
  Index holder(Index node, NodeKind kind) const;
  /// A description such as "host node7, NIC mlx5_0".
  std::string describe(Index node) const;

  bool operator==(const Graph&) const = default;

 private:
  std::vector<Node> nodes_;
  std::vector<Link> links_;
};

/// The PCI facts of a node, or null.
const PciFacts* pci_of(const Node& node);

/// The links that leave each node.
class Adjacency {
 public:
  explicit Adjacency(const Graph& graph);
  struct Range {
    const uint32_t* first;
    const uint32_t* last;
    const uint32_t* begin() const { return first; }
    const uint32_t* end() const { return last; }
  };
  /// Indices in Graph::links().
  Range from(Index node) const {
    const auto at = static_cast<size_t>(node);
    return {links_.data() + begin_[at], links_.data() + begin_[at + 1]};
  }

 private:
  std::vector<uint32_t> begin_;
  std::vector<uint32_t> links_;
};

}  // namespace weir::topology
