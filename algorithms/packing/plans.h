// SPDX-License-Identifier: Apache-2.0
/// Plans from tree packings: data goes down the trees, sums go up.
///
/// Each rank's block (in an all-reduce: its region of the one block) is divided among the trees of which it
/// is the root, in proportion to their multiplicities. Trees with the same hops count as one, whatever their
/// routes; the plan has as many chunks as there are trees, divided by the common divisor of all
/// multiplicities.
///
/// Packings that sum (reduce_scatter, reduce, the first one of all_reduce) are those of the reversed network:
/// see reversed() in trees.h. Data that goes up such a tree uses its route's edges backwards there, which is
/// forwards in the network itself. Sums follow the order of the tree's edges, children before parents.
///
/// Pure. REQUIRES: packings that check_packing() accepts. Errors: invalid_argument if the packing does not
/// suit the collective.
/// Tests: tests/algorithms/packing_plan_test.cc
#pragma once

#include <vector>

#include "algorithms/ir/plan.h"
#include "algorithms/packing/trees.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// The order of the moves and the use of lanes. They decide how well the passes of a plan overlap, and so how
/// much of the packing's bandwidth is reached.
struct MoveOrder {
  bool by_level = false;  ///< all trees level by level; otherwise one tree after the other
  int groups = 8;         ///< number of groups of lanes; trees are assigned to them in turn
  int phases = 1;         ///< number of lanes of a group; the levels of a tree use them in turn
  bool apart = true;      ///< an all-reduce sums in other lanes than it spreads
  int parts = 1;          ///< each tree is divided into this number of equal trees
  /// Whether each rank assigns its lanes to trees by its depth in them instead. Lanes that trees share then
  /// wait for no data that arrives much later than other data of the lane.
  bool by_depth = false;
  /// With by_depth: ranks have other lanes for trees in which they are leaves, so that what they pass on does
  /// not wait for what they only keep; and data go down in the order in which a plan that sums backwards
  /// along the same trees takes them: the last tree first, and what has the farthest to go.
  bool mirrored = false;
  bool single = false;  ///< trees of several chunks are divided into trees of one, which share links evenly
  bool operator==(const MoveOrder&) const = default;
};

/// The packings that sum and that spread: one of them, or for an all-reduce both.
struct Halves {
  const Packing* up = nullptr;    ///< of the reversed network
  const Packing* down = nullptr;  ///< with the same number of trees per root as `up`
};

/// The plan of a collective. All-gather and reduce-scatter: every rank is the root of the same number of
/// trees. Broadcast and reduce: one rank is the root of all trees. All-reduce: roots share the data in
/// proportion to their trees.
///
/// With an order by level, ranks may have to store sums that they only pass on; plan_with() returns
/// not_supported instead. An order by trees always works.
Result<ir::Plan> plan_with(Collective collective, const Halves& halves, const MoveOrder& order = {});

/// All orders that are worth a try for these packings if a rank has so many lanes, the most promising ones
/// first.
std::vector<MoveOrder> move_orders(const Halves& halves, int most_lanes = ir::kMaxLanes);

}  // namespace weir::algorithms
