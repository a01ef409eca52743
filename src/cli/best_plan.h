// SPDX-License-Identifier: Apache-2.0
/// The best known plan for a task, for every collective.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "algorithms/ir/plan.h"
#include "algorithms/packing/rational.h"
#include "algorithms/planner/planner.h"
#include "src/cli/plan_task.h"

namespace weir::cli {

/// If all ranks need the same data: trees of the planner. If each rank needs different data (all-to-all,
/// gather, scatter): the algorithm of the catalogue that puts the least load on the busiest link, on the
/// simulator's routes.
struct BestPlan {
  std::variant<algorithms::CollectivePlan, ir::Plan> plan;
  algorithms::Bound bound;
  algorithms::Rational time;           ///< T / M, multiplied by one unit of capacity, as in Bound
  algorithms::Rational part_of_bound;  ///< time of the bound divided by `time`: at most 1; 1 is optimal
  std::vector<double> edge_bytes;      ///< share of the task's bytes on each edge of the network

  /// Null if the plan is an algorithm of the catalogue.
  const algorithms::CollectivePlan* trees() const { return std::get_if<algorithms::CollectivePlan>(&plan); }
  /// "trees", "hierarchical", "trees with free roots", "pairwise".
  std::string algorithm() const;
  /// "4 spanning trees, at most 3 hops high".
  std::string words() const;
  /// Number of different trees; a tree with a multiplicity counts once, a tree that both reduces and
  /// broadcasts counts once. For a plan by hosts: trees inside one host. 0 if the plan has no trees.
  size_t tree_count() const;
  /// Largest number of hops from a root to a rank. 0 if the plan has no trees.
  int height() const;
};

/// Limit for plans that list every pair of ranks.
inline constexpr int kMostListedRanks = 512;

/// The result is verified: see plan_collective(), and ir::verify() for algorithms of the catalogue. Errors:
/// those of plan_collective(); invalid_argument for more than kMostListedRanks ranks that each need different
/// data.
Result<BestPlan> best_plan(const PlanTask& task, Rank root);

/// The schedule, move by move. Errors: those of algorithms::schedule().
Result<ir::Plan> schedule(const BestPlan& best, const PlanTask& task);

}  // namespace weir::cli
