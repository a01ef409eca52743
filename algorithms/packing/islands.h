// SPDX-License-Identifier: Apache-2.0
/// Which nodes of a graph belong together more closely than through a given switch.
#pragma once

#include <vector>

#include "algorithms/packing/logical_graph.h"

namespace weir::algorithms {

class Islands {
 public:
  using Names = std::vector<int>;  ///< by node: one name per island

  /// Remembers the graph as it is now.
  explicit Islands(const LogicalGraph& graph);

  /// The islands that links faster than the mean one into `node` form, if `node` were not there.
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
