// SPDX-License-Identifier: Apache-2.0
/// Maximum flows and minimum cuts, for thousands of sinks of one network.
///
/// Dinic's algorithm (Soviet Math. Doklady 11, 1970), backwards from the sink: levels count from the sink and
/// are only extended until enough supply for the sink is found. A flow therefore costs time proportional to
/// the neighbourhood of its sink if supply is near, however large the network is; clearing costs time
/// proportional to what the flow touched.
///
/// Not thread-safe; distinct objects may be used from distinct threads.
/// Tests: tests/algorithms/network_max_flow_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/network/network.h"
#include "algorithms/network/ratio.h"

namespace weir::algorithms {

/// The direction of data: along the edges, or against them.
enum class Direction : uint8_t { along, against };

/// Amount is int64_t or Int128. Twice the sum of the capacities, and of the limited supplies, must fit;
/// nothing is checked.
template <typename Amount>
class MaxFlow {
 public:
  /// An unlimited supply.
  static constexpr Amount kUnlimited = -1;

  /// Parallel edges are allowed. Initially no node has supply. `edges` need not outlive the object.
  MaxFlow(int32_t nodes, std::span<const Edge> edges, Direction direction = Direction::along);

  /// Sets all capacities to `multiple` times `capacities[edge]`; the flow becomes zero.
  void set_capacities(std::span<const int64_t> capacities, Amount multiple = 1);
  /// Sets the capacity of one edge. REQUIRES: the flow is zero.
  void set_capacity(size_t edge, Amount capacity);
  /// Sets the supply of a node, initially 0. REQUIRES: the flow is zero.
  void set_supply(int32_t node, Amount supply);
  Amount supply(int32_t node) const { return supply_[static_cast<size_t>(node)]; }

  /// Increases the flow until the supplies send `wanted` more to `sink` or no more can reach it; returns the
  /// increase. The sink's own supply counts. All calls before clear() must use the same sink.
  Amount run(int32_t sink, Amount wanted);
  /// Sets the flow to zero.
  void clear();

  /// After a run() that returned less than wanted: the nodes from which more could still reach the sink, the
  /// sink first. Of all minimum cuts it is the one nearest to the sink. Valid until the next call that
  /// changes something.
  std::span<const int32_t> sink_side() const { return reached_; }
  /// The nodes that the last search of run() reached, nearest to the sink first. Valid for the same time.
  std::span<const int32_t> reached() const { return reached_; }
  /// The net flow through an edge; 0 if more flows the other way over a parallel or opposite edge that shares
  /// its arcs: only the difference is known for an edge and its opposite.
  Amount flow(size_t edge) const;

 private:
  /// An edge as seen from its head: how much more can come from `from`. `mate` is the arc of the other
  /// direction.
  struct Arc {
    int32_t from;
    int32_t mate;
    Amount room;
  };

  void connect(std::span<const Edge> edges, Direction direction);
  bool find_levels(int32_t sink, Amount wanted);
  Amount block(int32_t sink, Amount wanted);
  Amount augment(int32_t source, Amount most);

  std::vector<int32_t> begin_;    ///< index: node; its first arc
  std::vector<Arc> arcs_;         ///< incoming arcs, grouped by node
  std::vector<int32_t> arc_of_;   ///< index: edge
  std::vector<Amount> capacity_;  ///< index: arc; remaining capacity at zero flow
  std::vector<Amount> supply_;    ///< index: node
  std::vector<Amount> left_;      ///< index: node; unused part of its supply
  std::vector<int32_t> level_;    ///< index: node; -1: not reached
  int32_t last_level_ = 0;
  std::vector<int32_t> next_;      ///< index: reached node; the next arc to try
  std::vector<int32_t> reached_;   ///< sorted by level
  std::vector<int32_t> path_;      ///< arcs, from the sink on
  std::vector<int32_t> changed_;   ///< arcs whose flow has changed since clear()
  std::vector<int32_t> supplied_;  ///< nodes that have sent something since clear()
};

extern template class MaxFlow<int64_t>;
extern template class MaxFlow<Int128>;

}  // namespace weir::algorithms
