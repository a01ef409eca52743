// SPDX-License-Identifier: Apache-2.0
/// The schedule of planned trees: their moves in an order, and on lanes, with which they overlap well.
///
/// The packing says what every link carries, but not when. Orders of moves (packing/plans.h) are therefore
/// simulated, equal ones once, and the fastest one is taken. Pure and thread-safe.
/// Tests: tests/algorithms/ranking_test.cc, tests/algorithms/planner_test.cc
#pragma once

#include <cstdint>
#include <optional>

#include "algorithms/ir/plan.h"
#include "algorithms/packing/plans.h"
#include "algorithms/planner/planner.h"
#include "algorithms/sim/simulate.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// The trees of a plan over all ranks: for a plan by hosts they are spelled out, in large hosts without
/// direct parts (cluster/direct_parts.h).
struct PlannedTrees {
  std::optional<Packing> up;  ///< sums; of the reversed network
  std::optional<Packing> down;
  Halves halves() const { return {up ? &*up : nullptr, down ? &*down : nullptr}; }
};

/// Errors: those of spelled_out() (cluster/cluster_trees.h).
Result<PlannedTrees> planned_trees(const CollectivePlan& plan, const Network& network);

/// A plan move by move, and its simulation.
struct Schedule {
  ir::Plan plan;
  sim::Prediction prediction;
  int orders = 0;  ///< number of orders that were simulated to find it; 0: it is not made of trees
};

/// Flows of all orders that are simulated; a million take about a second.
inline constexpr int64_t kMostOrderFlows = 1'500'000;

/// The fastest order of the moves with these channels, for a collective of `bytes`; not verified: see
/// ir::verify(). No further order is tried after `most_flows`. Orders in which a rank uses more than
/// `most_lanes` lanes, or as many channels to another rank, are left out: kernels have fewer. Errors: those
/// of planned_trees(), plan_with() and sim::simulate(); invalid_argument if no order has so few lanes.
Result<Schedule> schedule(const CollectivePlan& plan, const Network& network, double bytes,
                          const sim::Channels& channels, int64_t most_flows = kMostOrderFlows,
                          int most_lanes = ir::kMaxLanes);

/// The same, but where lanes are too few for the trees of `plan`, up to kMostFlatRanks ranks, also with one
/// and two trees over all ranks per root. If these are simulated faster they become those of `plan`, although
/// the links would allow more.
Result<Schedule> schedule_fewer(CollectivePlan& plan, const Network& network, double bytes,
                                const sim::Channels& channels, int64_t most_flows = kMostOrderFlows,
                                int most_lanes = ir::kMaxLanes);

}  // namespace weir::algorithms
