// SPDX-License-Identifier: Apache-2.0
/// Maximum flows and minimum cuts, for thousands of sinks of one network.
///
/// Dinic's algorithm (Soviet Math. Doklady 11, 1970), from the sink backwards: levels count from the sink and
/// grow no further than it takes to find what the sink still wants. So a flow costs what lies around its
/// sink where supply is near, however large the network is; clearing costs what the flow touched.
///
/// Not thread-safe; distinct objects may be used from distinct threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/network/network.h"
#include "algorithms/network/ratio.h"

namespace weir::algorithms {

/// Which way bytes go: along the edges, or against them.
enum class Direction : uint8_t { along, against };

/// Amount is int64_t or Int128. Twice the sum of the capacities, and of the supplies that are not unlimited,
/// must fit; nothing is checked.
template <typename Amount>
class MaxFlow {
 public:
  /// A supply that never ends.
  static constexpr Amount kUnlimited = -1;

  /// Parallel edges may be there. Nothing has supply. `edges` need not outlive it.
  MaxFlow(int32_t nodes, std::span<const Edge> edges, Direction direction = Direction::along);

  /// All capacities become `multiple` times `capacities[edge]`; the flow is zero again.
  void set_capacities(std::span<const int64_t> capacities, Amount multiple = 1);
  /// Of one edge. REQUIRES: the flow is zero.
  void set_capacity(size_t edge, Amount capacity);
  /// What the source may give at a node; 0 at first. REQUIRES: the flow is zero.
  void set_supply(int32_t node, Amount supply);
  Amount supply(int32_t node) const { return supply_[static_cast<size_t>(node)]; }

  /// Adds to the flow until the supplies send `wanted` more to `sink` or nothing more can get there, and
  /// returns how much it added. The sink's own supply counts. All calls before clear() have to name one sink.
  Amount run(int32_t sink, Amount wanted);
  /// The flow becomes zero.
  void clear();

  /// After a run() that fell short: the nodes from which more could still reach the sink, the sink first. Of
  /// all minimum cuts it is the one nearest to the sink. Valid until the next call that changes something.
  std::span<const int32_t> sink_side() const { return reached_; }
  /// The nodes that the last search of run() got to, the nearest to the sink first. Valid as long.
  std::span<const int32_t> reached() const { return reached_; }
  /// The net flow through an edge; 0 where more goes the other way over a parallel or opposite edge that
  /// shares its room: only the difference is known of an edge and its opposite.
  Amount flow(size_t edge) const;

 private:
  /// An edge as its head sees it: how much more may come from `from`. `mate` is the same for the other way.
  struct Arc {
    int32_t from;
    int32_t mate;
    Amount room;
  };

  void connect(std::span<const Edge> edges, Direction direction);
  bool find_levels(int32_t sink, Amount wanted);
  Amount block(int32_t sink, Amount wanted);
  Amount augment(int32_t source, Amount most);

  std::vector<int32_t> begin_;    ///< by node: its first arc
  std::vector<Arc> arcs_;         ///< what comes in, by node
  std::vector<int32_t> arc_of_;   ///< by edge
  std::vector<Amount> capacity_;  ///< by arc: its room while the flow is zero
  std::vector<Amount> supply_;    ///< by node
  std::vector<Amount> left_;      ///< by node: of its supply
  std::vector<int32_t> level_;    ///< by node; -1: not reached
  int32_t last_level_ = 0;
  std::vector<int32_t> next_;      ///< by node reached: the arc to try
  std::vector<int32_t> reached_;   ///< in the order of levels
  std::vector<int32_t> path_;      ///< arcs, from the sink on
  std::vector<int32_t> changed_;   ///< arcs that flow went through since clear()
  std::vector<int32_t> supplied_;  ///< nodes that gave something since clear()
};

extern template class MaxFlow<int64_t>;
extern template class MaxFlow<Int128>;

}  // namespace weir::algorithms
