// SPDX-License-Identifier: Apache-2.0
/// The condition that a packing exists (Edmonds, "Edge-disjoint branchings", 1973): with a source that feeds
/// every rank its share of trees, a flow of all shares together reaches every single rank.
///
/// Not thread-safe.
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
  /// `shares` by rank: trees rooted there; not below 0.
  Supply(const LogicalGraph& graph, const std::vector<int64_t>& shares);

  /// Changes a capacity, for the next question; the graph is not touched. An edge that is new costs a lot at
  /// the next question, many new ones no more than one.
  void change(int from, int to, int64_t amount);
  /// By how much the rank that is served worst lacks flow; 0 where the condition holds. Above 0, cut() is
  /// the cut that shows it.
  int64_t shortfall();
  /// By node: whether it is on the side of the rank that lacks.
  const std::vector<char>& cut() const { return cut_; }

 private:
  void build();

  int nodes_;
  std::vector<int32_t> rank_nodes_;
  std::vector<int64_t> shares_;
  int64_t total_ = 0;
  std::vector<Edge> edges_;
  std::map<std::pair<int, int>, size_t> numbers_;
  std::optional<MaxFlow<int64_t>> flow_;  // none: to be built anew
  std::vector<char> cut_;
};

}  // namespace weir::algorithms
