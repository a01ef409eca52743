// SPDX-License-Identifier: Apache-2.0
/// The best known plan for a collective on a network, judged, with its distance from the bound.
///
/// For several hosts that is a plan with rings between hosts and trees inside, or for an all-reduce over
/// unequal hosts trees with free roots (both: cluster/cluster_planner.h); for a single host, and for few
/// ranks if hosts limit more than the links between them, trees over all ranks (tree_planner.h). Latencies
/// are ignored: the figure is the time per byte of long messages. Pure and thread-safe.
/// Tests: tests/algorithms/planner_test.cc
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "algorithms/bound/bound.h"
#include "algorithms/cluster/cluster_plan.h"
#include "algorithms/network/network.h"
#include "algorithms/planner/tree_planner.h"
#include "algorithms/proof/cluster_proof.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// A plan inside hosts and between them, with its load on the network.
struct JudgedCluster {
  ClusterPlan plan;
  ClusterLoads loads;
};

struct CollectivePlan {
  Collective collective = Collective::all_gather;
  Rank root = 0;  ///< root rank, for rooted collectives only
  Bound bound;
  std::optional<TreePlan> trees;      ///< trees over all ranks; otherwise `up` and `down`:
  std::optional<JudgedCluster> up;    ///< sums; a plan of the reversed network
  std::optional<JudgedCluster> down;  ///< spreads
  Rational time;                      ///< T / M, times one unit of capacity, as in Bound
  Rational part_of_bound;             ///< the bound's time / time: at most 1, which is optimal
};

/// Up to this number of ranks, trees over all of them are also tried if a plan by hosts is not optimal.
inline constexpr int kMostFlatRanks = 64;
/// Up to this number of ranks, trees over all of them are tried if there is no plan by hosts.
inline constexpr int kMostPackedRanks = 512;

/// Supports all-gather, reduce-scatter, broadcast, reduce, and all-reduce: as a reduce-scatter and an
/// all-gather, and with free roots if that is not optimal. The result has been judged by check_bound() and
/// check_cluster(), check_packing() or check_both(). `between_hosts`: index: node, as from
/// switches_between_hosts(). Errors: as plan_trees(), and as plan_cluster() for more than kMostPackedRanks
/// ranks.
Result<CollectivePlan> plan_collective(const Network& network, std::span<const char> between_hosts,
                                       Collective collective, Rank root = 0);

/// The plan that consists of these trees over all ranks.
CollectivePlan of_trees(TreePlan trees);

/// The load of each edge of the network, of `bytes` in total.
std::vector<double> edge_bytes(const CollectivePlan& plan, const Network& network, double bytes);

}  // namespace weir::algorithms
