// SPDX-License-Identifier: Apache-2.0
/// The condition for the existence of a packing (Edmonds, "Edge-disjoint branchings", 1973): with a source
/// that supplies every rank with its share of trees, a flow of all shares together reaches every single rank.
///
/// Not thread-safe.
/// Tests: tests/algorithms/packing_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "algorithms/network/max_flow.h"
#include "algorithms/packing/logical_graph.h"

namespace weir::algorithms {

class Supply {
 public:
  /// `shares`: index: rank; number of trees rooted there; not negative.
  Supply(const LogicalGraph& graph, const std::vector<int64_t>& shares);

  /// Changes a capacity for the next query; the graph is not changed. A new edge makes the next query slow,
  /// many new edges no slower than one.
  void change(int from, int to, int64_t amount);
  /// The shortfall of the flow at the worst-served rank; 0 if the condition holds. If it is above 0, cut() is
  /// the cut that proves it.
  int64_t shortfall();
  /// For each node whether it is on the side of the rank with the shortfall.
  const std::vector<char>& cut() const { return cut_; }

 private:
  void build();

  int nodes_;
  std::vector<int32_t> rank_nodes_;
  std::vector<int64_t> shares_;
  int64_t total_ = 0;
  std::vector<Edge> edges_;
  std::map<std::pair<int, int>, size_t> numbers_;
  std::optional<MaxFlow<int64_t>> flow_;  // none: must be rebuilt
  std::vector<char> cut_;
};

}  // namespace weir::algorithms
