// SPDX-License-Identifier: Apache-2.0
/// How two devices reach each other, in the words that people know from `nvidia-smi topo -m` and from NCCL.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/model/graph.h"

namespace weir::topology {

/// From near to far. A path has the class of its worst part.
enum class PathClass : uint8_t {
  loc,   ///< itself
  nvl,   ///< NVLink or Infinity Fabric between GPUs, through NVSwitches or not
  nvb,   ///< the same, through another GPU
  c2c,   ///< chip to chip, GPU and processor
  pix,   ///< one PCIe switch
  pxb,   ///< several PCIe switches
  p2c,   ///< chip to chip to the processor, then PCIe
  pxn,   ///< to a NIC through a GPU beside it (NCCL's files only: no path of ours)
  phb,   ///< a root complex of the processor
  node,  ///< several root complexes of one NUMA node (only where root complexes are known)
  sys,   ///< several NUMA nodes
  net,   ///< a network
  dis    ///< not at all
};
inline constexpr int kPathClasses = 13;
/// "NVL".
const char* name(PathClass path_class);

struct Path {
  PathClass path_class = PathClass::dis;
  int hops = 0;                 ///< links
  double gb_per_s = 0;          ///< of the narrowest link, nobody else using it; 0: not known
  std::vector<uint32_t> links;  ///< places in Graph::links(), in order

  bool operator==(const Path&) const = default;
};

/// The best paths from `from` to every node: the nearest class first, then the fewest links, then the widest.
/// No path leads through a NIC or, but for one GPU in `nvb`, through a GPU. Paths over cables stay in the
/// network once they have left their host and end at a port, a NIC or a GPU.
class Paths {
 public:
  /// `graph` outlives it. What is beyond `farthest` counts as not reached. Time: what can be reached, its
  /// links times the logarithm of its nodes, and the size of the graph once.
  Paths(const Graph& graph, const Adjacency& adjacency, Index from, PathClass farthest = PathClass::sys);

  PathClass path_class(Index to) const { return best_[static_cast<size_t>(to)].path_class; }
  Path to(Index to) const;

 private:
  struct Best {
    PathClass path_class = PathClass::dis;
    int hops = 0;
    double gb_per_s = 0;
    uint32_t link = UINT32_MAX;  ///< the last one of the path
  };

  const Graph& graph_;
  std::vector<Best> best_;
};

/// The links between two GPUs, direct ones and those through NVSwitches, all together: what they can exchange
/// at most when nobody else does. count 0: none.
struct GpuLinks {
  int count = 0;
  double gb_per_s = 0;
};
GpuLinks gpu_links(const Graph& graph, const Adjacency& adjacency, Index from, Index to);

}  // namespace weir::topology
