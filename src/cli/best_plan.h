// SPDX-License-Identifier: Apache-2.0
/// The best plan that we know for a task, whatever the collective.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "algorithms/ir/plan.h"
#include "algorithms/packing/rational.h"
#include "algorithms/planner/planner.h"
#include "src/cli/plan_task.h"

namespace weir::cli {

/// Trees where all ranks want the same data, of the planner. Where each wants other data (all-to-all, gather,
/// scatter), the algorithm of the library that loads the busiest link least on the simulator's routes.
struct BestPlan {
  std::variant<algorithms::CollectivePlan, ir::Plan> plan;
  algorithms::Bound bound;
  algorithms::Rational time;           ///< T / M, times one unit of capacity, as in Bound
  algorithms::Rational part_of_bound;  ///< the bound's time / time: at most 1, and 1 is optimal
  std::vector<double> edge_bytes;      ///< by edge of the network, of the task's bytes

  /// Null: an algorithm of the library.
  const algorithms::CollectivePlan* trees() const { return std::get_if<algorithms::CollectivePlan>(&plan); }
  /// "trees", "hierarchical", "trees with free roots", "pairwise".
  std::string algorithm() const;
  /// "4 spanning trees, at most 3 hops high".
  std::string words() const;
  /// Different trees, each with its multiplicity once; of a plan by hosts those of one host; what sums and
  /// spreads is one. Without trees 0.
  size_t tree_count() const;
  /// Hops from a root to the farthest rank. Without trees 0.
  int height() const;
};

/// More ranks have too many pairs to list each.
inline constexpr int kMostListedRanks = 512;

/// Judged: see plan_collective(), and ir::verify() for the library's algorithms. Errors: of
/// plan_collective(); invalid_argument for more than kMostListedRanks ranks that each want other data.
Result<BestPlan> best_plan(const PlanTask& task, Rank root);

/// The schedule, move by move. Errors: of algorithms::schedule().
Result<ir::Plan> schedule(const BestPlan& best, const PlanTask& task);

}  // namespace weir::cli
