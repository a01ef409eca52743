// SPDX-License-Identifier: Apache-2.0
/// Finds nodes of a graph that are connected more closely with each other than through a given switch.
/// Tests: tests/algorithms/packing_test.cc
#pragma once

#include <vector>

#include "algorithms/packing/logical_graph.h"

namespace weir::algorithms {

class Islands {
 public:
  using Names = std::vector<int>;  ///< index: node; one name per island

  /// Copies the current state of the graph.
  explicit Islands(const LogicalGraph& graph);

  /// The islands formed by links faster than the average link into `node`, if `node` were removed.
  Names without(int node) const;

 private:
  struct Link {
    int from;
    int to;
    int64_t capacity;
  };
  int nodes_;
  std::vector<Link> links_;
};

}  // namespace weir::algorithms
