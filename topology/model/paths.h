// SPDX-License-Identifier: Apache-2.0
/// Paths between two devices, classified as by `nvidia-smi topo -m` and NCCL.
/// Tests: tests/topology/machines_test.cc, tests/topology/model_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "topology/model/graph.h"

namespace weir::topology {

/// From near to far. A path has the class of its worst part.
enum class PathClass : uint8_t {
  loc,   ///< itself
  nvl,   ///< NVLink or Infinity Fabric between GPUs, directly or through NVSwitches
  nvb,   ///< the same, through another GPU
  c2c,   ///< chip to chip, GPU and processor
  pix,   ///< one PCIe switch
  pxb,   ///< several PCIe switches
  p2c,   ///< chip to chip to the processor, then PCIe
  pxn,   ///< to a NIC through a neighbouring GPU (only in NCCL's files: never computed here)
  phb,   ///< a root complex of the processor
  node,  ///< several root complexes of one NUMA node (only if root complexes are known)
  sys,   ///< several NUMA nodes
  net,   ///< a network
  dis    ///< no path
};
inline constexpr int kPathClasses = 13;
/// The abbreviation, such as "NVL".
const char* name(PathClass path_class);

struct Path {
  PathClass path_class = PathClass::dis;
  int hops = 0;                 ///< number of links
  double gb_per_s = 0;          ///< bandwidth of the narrowest link without other traffic; 0: unknown
  std::vector<uint32_t> links;  ///< indices in Graph::links(), in order

  bool operator==(const Path&) const = default;
};

/// The best paths from `from` to every node: the nearest class first, then the fewest links, then the widest.
/// No path leads through a NIC or, except for one GPU in `nvb`, through a GPU. Paths over cables stay in the
/// network after leaving their host and end at a port, a NIC or a GPU.
class Paths {
 public:
  /// `graph` outlives the object. Nodes beyond `farthest` count as unreachable. Time: the reachable links
  /// times the logarithm of the reachable nodes, plus the size of the graph.
  Paths(const Graph& graph, const Adjacency& adjacency, Index from, PathClass farthest = PathClass::sys);

  PathClass path_class(Index to) const { return best_[static_cast<size_t>(to)].path_class; }
  Path to(Index to) const;

 private:
  struct Best {
    PathClass path_class = PathClass::dis;
    int hops = 0;
    double gb_per_s = 0;
    uint32_t link = UINT32_MAX;  ///< last link of the path
  };

  const Graph& graph_;
  std::vector<Best> best_;
};

/// The links between two GPUs, direct ones and those through NVSwitches, combined: the maximum that they can
/// exchange without other traffic. count 0: none.
struct GpuLinks {
  int count = 0;
  double gb_per_s = 0;
};
GpuLinks gpu_links(const Graph& graph, const Adjacency& adjacency, Index from, Index to);

}  // namespace weir::topology
