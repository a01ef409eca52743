// SPDX-License-Identifier: Apache-2.0

#include "algorithms/packing/trees.h"

#include <algorithm>
#include <utility>

namespace weir::algorithms {

int height(const Packing& packing) {
  int most = 0;
  std::vector<int> depth(packing.shares.size());
  for (const Tree& tree : packing.trees) {
    depth[static_cast<size_t>(tree.root)] = 0;
    for (const TreeEdge& edge : tree.edges) {
      int& reached = depth[static_cast<size_t>(edge.to)];
      reached = depth[static_cast<size_t>(edge.from)] + 1;
      most = std::max(most, reached);
    }
  }
  return most;
}

Network reversed(const Network& network) {
  Network turned = network;
  for (Edge& edge : turned.edges) std::swap(edge.from, edge.to);
  return turned;
}

}  // namespace weir::algorithms
