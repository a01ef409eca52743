// SPDX-License-Identifier: Apache-2.0
/// Disjoint sets of nodes (union-find).
/// Tests: tests/topology/model_test.cc
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "topology/model/graph.h"

namespace weir::topology {

/// Initially every node below `size` is alone. Not thread-safe.
class Unions {
 public:
  explicit Unions(Index size) : leader_(static_cast<size_t>(size)) {
    std::iota(leader_.begin(), leader_.end(), 0);
  }
  /// The smallest node of the set.
  Index find(Index node) {
    while (leader(node) != node) node = leader(node) = leader(leader(node));
    return node;
  }
  void join(Index a, Index b) {
    a = find(a);
    b = find(b);
    leader(std::max(a, b)) = std::min(a, b);
  }

 private:
  Index& leader(Index node) { return leader_[static_cast<size_t>(node)]; }

  std::vector<Index> leader_;
};

}  // namespace weir::topology
