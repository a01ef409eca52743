// SPDX-License-Identifier: Apache-2.0
/// The best known plan for a collective on a topology, for every collective. Pure and thread-safe.
/// Tests: tests/cli/plan_test.cc
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "algorithms/cluster/exchange_plan.h"
#include "algorithms/ir/plan.h"
#include "algorithms/network/network.h"
#include "algorithms/packing/rational.h"
#include "algorithms/planner/planner.h"
#include "src/base/status.h"
#include "src/base/types.h"
#include "topology/model/graph.h"

namespace weir::algorithms {

/// What to plan. The request refers to objects that have to outlive it.
struct PlanRequest {
  const topology::Graph& graph;
  const Network& network;               ///< network between devices of `graph`
  std::span<const char> between_hosts;  ///< switches_between_hosts() of the network
  Collective collective = Collective::all_reduce;
  Rank root = 0;     ///< root of collectives that have one
  double bytes = 0;  ///< size of the whole
};

/// If all ranks need the same data: trees of the planner. If each rank needs different data (all-to-all,
/// gather, scatter): the algorithm of the catalogue that puts the least load on the busiest link, on the
/// simulator's routes. An all-to-all may also be routed along planned paths; above kMostListedRanks these are
/// not spelled out as moves. GPUs of the network without a rank (network/relays.h) are further ranks of such
/// a plan (ir::Shape::relays).
struct BestPlan {
  std::variant<CollectivePlan, ir::Plan, ExchangePlan> plan;
  Bound bound;
  Rational time;                   ///< T / M, multiplied by one unit of capacity, as in Bound
  Rational part_of_bound;          ///< time of the bound divided by `time`: at most 1; 1 is optimal
  std::vector<double> edge_bytes;  ///< share of the request's bytes on each edge of the network

  /// Null if the plan does not consist of trees.
  const CollectivePlan* trees() const { return std::get_if<CollectivePlan>(&plan); }
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

/// The result is verified: see plan_collective(), ir::verify() for plans with moves, and check_exchange() for
/// an all-to-all without. Errors: those of plan_collective() and plan_exchange(); invalid_argument for a
/// gather or scatter of more than kMostListedRanks ranks.
Result<BestPlan> best_plan(const PlanRequest& request);

/// A plan of the planner for this request.
BestPlan of_trees(CollectivePlan planned, const PlanRequest& request);

}  // namespace weir::algorithms
