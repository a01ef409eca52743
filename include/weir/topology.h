// SPDX-License-Identifier: Apache-2.0
/// What a machine or a cluster is made of, for schedulers and frameworks that place ranks.
///
///     const auto topology = weir::read_topology({"node.xml", "fabric.txt"});
///     if (!topology) return complain(topology.error());
///     for (const weir::Leaf& leaf : topology->leaves())
///       for (const int host : leaf.hosts)
///         place(topology->node(host).name, topology->node(leaf.node).name);
///     const int gpu = topology->devices()[0];
///     for (const int nic : topology->nearest_nics(gpu)) bind(topology->node(nic).name);
///
/// A Topology holds what `weir topo` shows (docs/topology.md): nodes in a tree of containment, and links with
/// their bandwidths. An int that stands for a node is its place in nodes(). Lists and names that a Topology
/// returns stay valid as long as the Topology exists, also after it was moved to another object.
///
/// Every function may be called from any thread; several threads may use one const Topology at once. No
/// function throws anything but std::bad_alloc, and none prints. The error of an Expected is the sentence
/// that the `weir` command prints. A Topology that is default-constructed or moved-from is empty: it has no
/// nodes, and all its lists are empty.
///
/// C++20. Only C functions and plain structures cross the border of the library, so that the program may use
/// any C++ standard library, and its own operator new.
/// Tests: tests/api/planner_api_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/expected.h"

namespace weir {

/// A contiguous array that belongs to another object.
template <typename T>
struct List {
  const T* first = nullptr;
  size_t count = 0;

  const T* begin() const { return first; }
  const T* end() const { return first + count; }
  const T* data() const { return first; }
  size_t size() const { return count; }
  bool empty() const { return count == 0; }
  const T& operator[](size_t at) const { return first[at]; }
};

enum class NodeKind : uint8_t {
  host,           ///< an operating-system instance
  package,        ///< a processor in its socket
  numa,           ///< a NUMA node
  bridge,         ///< a PCIe switch, a bridge or a root complex
  gpu,            ///< a GPU that programs see; each die of a GPU that has several
  partition,      ///< a share of a GPU (MIG) that programs see as a GPU
  nvswitch,       ///< an NVLink switch
  nic,            ///< a network adapter
  port,           ///< a port of a network adapter
  fabric_switch,  ///< a network switch
};

struct Node {
  NodeKind kind = NodeKind::host;
  int parent = -1;      ///< the node that holds this one, such as the NIC of a port; -1: none
  int host = -1;        ///< the host that holds this node, or the host itself; -1: a network switch
  int numa = -1;        ///< the operating system's number of its NUMA node; -1: not known
  int number = -1;      ///< GPU: number in the vendor's library; partition: number on the GPU; -1: not known
  int level = 0;        ///< network switch: 1 leaf, 2 spine and so on; 0: not known, or another node
  int leaf_group = -1;  ///< equal for hosts on the same leaves, or on none; -1: not a host
  const char* name = "";         ///< such as "node7"; unique among the nodes of one kind and parent
  const char* model = "";        ///< product name; empty: not known
  const char* pci_address = "";  ///< such as "0000:3b:00.0"; empty: not known
};

enum class LinkKind : uint8_t {
  pci,
  cpu,     ///< a link between NUMA nodes
  nvlink,  ///< NVLink, between GPUs and NVSwitches
  xgmi,    ///< Infinity Fabric between GPUs
  c2c,     ///< NVLink or Infinity Fabric between a GPU and its processor
  inner,   ///< a link inside one device: NIC to port, GPU to partition
  cable,   ///< a network cable
};

/// One direction; the reverse direction is another link.
struct Link {
  int from = -1;
  int to = -1;
  LinkKind kind = LinkKind::pci;
  int count = 1;          ///< number of parallel physical links
  double gb_per_s = 0;    ///< all `count` together, 1e9 bytes/s before protocol overhead; 0: not known
  double latency_us = 0;  ///< microseconds; 0: not known
};

/// A network switch of level 1 and the hosts that are attached to it.
struct Leaf {
  int node = -1;
  List<int> hosts;
  double down_gb_per_s = 0;  ///< bandwidth of all cables to hosts, one direction
  double up_gb_per_s = 0;    ///< bandwidth of all cables to other switches, one direction
};

}  // namespace weir

/* The C functions behind the classes. A sink is called at most once, with a text that it has to copy. */
typedef void (*weirTextSink)(void* keeper, const char* text, size_t size);

struct weirTopology {
  weir::List<weir::Node> nodes;
  weir::List<weir::Link> links;
  weir::List<int> devices;
  weir::List<int> hosts;
  weir::List<weir::Leaf> leaves;
  weir::List<const char*> notes;
};

extern "C" {
/* Return NULL on failure, and call `error` with the sentence. */
const weirTopology* weirTopologyRead(const char* const* files, size_t count, weirTextSink error,
                                     void* keeper);
const weirTopology* weirTopologyParse(const char* text, size_t size, const char* name, weirTextSink error,
                                      void* keeper);
const weirTopology* weirTopologyDetect(weirTextSink error, void* keeper);
void weirTopologyFree(const weirTopology* topology);
/* Write at most `most` nodes to `nodes`. Return how many there are in all. */
size_t weirTopologyNearestNics(const weirTopology* topology, int device, int* nodes, size_t most);
size_t weirTopologySwitches(const weirTopology* topology, int host, int level, int* nodes, size_t most);
void weirTopologyJson(const weirTopology* topology, weirTextSink text, void* keeper);
}

namespace weir {

namespace detail {

/// A weirTextSink; `keeper` is a std::string.
inline void keep_text(void* keeper, const char* text, size_t size) {
  static_cast<std::string*>(keeper)->assign(text, size);
}

struct FreeTopology {
  void operator()(const weirTopology* topology) const { weirTopologyFree(topology); }
};

}  // namespace detail

class Topology {
 public:
  Topology() = default;
  /// Takes ownership of what a C function returned.
  explicit Topology(const weirTopology* data) : data_(data) {}

  bool empty() const { return nodes().empty(); }
  List<Node> nodes() const { return data_ ? data_->nodes : List<Node>(); }
  /// The node at that place in nodes(), or a node without a name where the place does not exist.
  const Node& node(int number) const {
    static constexpr Node kNone;
    const bool is_there = number >= 0 && static_cast<size_t>(number) < nodes().size();
    return is_there ? nodes()[static_cast<size_t>(number)] : kNone;
  }
  List<Link> links() const { return data_ ? data_->links : List<Link>(); }

  /// The nodes that ranks run on: all GPUs, or all hosts where there are no GPUs. A plan over all of them has
  /// rank r on devices()[r].
  List<int> devices() const { return data_ ? data_->devices : List<int>(); }
  List<int> hosts() const { return data_ ? data_->hosts : List<int>(); }
  List<Leaf> leaves() const { return data_ ? data_->leaves : List<Leaf>(); }

  /// The NICs that a GPU or a partition reaches by the nearest path class (docs/topology.md). NICs all of
  /// whose ports are down are left out. Empty for other nodes. Takes tens of microseconds.
  std::vector<int> nearest_nics(int device) const {
    return numbers(
        [&](int* out, size_t most) { return weirTopologyNearestNics(data_.get(), device, out, most); });
  }
  /// The network switches of a level above a host: level 1 are its leaves, level 2 the spines above these.
  std::vector<int> switches(int host, int level) const {
    return numbers(
        [&](int* out, size_t most) { return weirTopologySwitches(data_.get(), host, level, out, most); });
  }

  /// Sentences about parts of files that were left out, or about parts of this machine that do not fit
  /// together.
  List<const char*> notes() const { return data_ ? data_->notes : List<const char*>(); }
  /// The whole topology as `weir topo --json` prints it.
  std::string json() const {
    std::string text;
    weirTopologyJson(data_.get(), detail::keep_text, &text);
    return text;
  }

  /// NULL for an empty topology. Belongs to this object.
  const weirTopology* data() const { return data_.get(); }

 private:
  template <typename Ask>
  static std::vector<int> numbers(Ask ask) {
    std::vector<int> found(ask(nullptr, 0));
    ask(found.data(), found.size());
    return found;
  }

  std::unique_ptr<const weirTopology, detail::FreeTopology> data_;
};

/// The topology that the files describe together, in any of the formats of docs/topology.md. An element may
/// also be a one-line machine description such as "2 x (8 gpu nvswitch 450, 8 nic 50) leaf". Takes
/// milliseconds for a cluster of 1,200 GPUs and over a second for 100,000. Parts that weir does not
/// understand are left out where that is safe, with a note. Fails for files that do not exist, are wrong, or
/// contradict each other.
inline Expected<Topology> read_topology(const std::vector<std::string>& files) {
  std::vector<const char*> names;
  for (const std::string& file : files) names.push_back(file.c_str());
  std::string error;
  Topology topology(weirTopologyRead(names.data(), names.size(), detail::keep_text, &error));
  return topology.data() ? Expected<Topology>(std::move(topology))
                         : Expected<Topology>::failed(std::move(error));
}

/// The topology that a text describes, in any of these formats. Errors and notes call the text `name`.
inline Expected<Topology> parse_topology(std::string_view text, const std::string& name = "the text") {
  std::string error;
  Topology topology(weirTopologyParse(text.data(), text.size(), name.c_str(), detail::keep_text, &error));
  return topology.data() ? Expected<Topology>(std::move(topology))
                         : Expected<Topology>::failed(std::move(error));
}

/// The topology of this machine and of the network as far as this machine sees it. Takes tens of
/// milliseconds, and longer where GPU drivers have to start or where the InfiniBand subnet is asked.
inline Expected<Topology> detect_topology() {
  std::string error;
  Topology topology(weirTopologyDetect(detail::keep_text, &error));
  return topology.data() ? Expected<Topology>(std::move(topology))
                         : Expected<Topology>::failed(std::move(error));
}

}  // namespace weir
