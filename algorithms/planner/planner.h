// SPDX-License-Identifier: Apache-2.0
/// The best plan that we know for a collective on a network, judged, and how far it is from what is possible.
///
/// For several hosts that is a plan in rings between hosts and trees inside, or for an all-reduce over hosts
/// that are not alike in trees with free roots (both: cluster/cluster_planner.h); for a single one, and for
/// few ranks where hosts limit more than what joins them, trees over all ranks (tree_planner.h). Latencies do
/// not count: it is the time per byte of long messages. Pure and thread-safe.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "algorithms/bound/bound.h"
#include "algorithms/cluster/cluster_plan.h"
#include "algorithms/ir/plan.h"
#include "algorithms/network/network.h"
#include "algorithms/planner/tree_planner.h"
#include "algorithms/proof/cluster_proof.h"
#include "weir/status.h"

namespace weir::algorithms {

/// A plan in hosts and between them, with what it puts on the network.
struct JudgedCluster {
  ClusterPlan plan;
  ClusterLoads loads;
};

struct CollectivePlan {
  Collective collective = Collective::all_gather;
  Rank root = 0;  ///< of collectives that have one
  Bound bound;
  std::optional<TreePlan> trees;      ///< over all ranks; else:
  std::optional<JudgedCluster> up;    ///< that sums: of the reversed network
  std::optional<JudgedCluster> down;  ///< that spreads
  Rational time;                      ///< T / M, times one unit of capacity, as in Bound
  Rational part_of_bound;             ///< the bound's time / time: at most 1, and 1 is optimal
};

/// Up to so many ranks trees over all of them are tried too where a plan by hosts is not optimal.
inline constexpr int kMostFlatRanks = 64;
/// Up to so many ranks trees over all of them are tried where there is no plan by hosts.
inline constexpr int kMostPackedRanks = 512;

/// All-gather, reduce-scatter, broadcast, reduce, and all-reduce: as a reduce-scatter and an all-gather, and
/// with free roots where that is not optimal. What
/// is returned has been judged by check_bound() and check_cluster(), check_packing() or check_both().
/// `between_hosts` by node, as of switches_between_hosts(). Errors: as plan_trees(), and as plan_cluster()
/// for more than kMostPackedRanks ranks.
Result<CollectivePlan> plan_collective(const Network& network, std::span<const char> between_hosts,
                                       Collective collective, Rank root = 0);

/// What each edge of the network carries of `bytes`, the size of the whole.
std::vector<double> edge_bytes(const CollectivePlan& plan, const Network& network, double bytes);

/// The schedule, move by move; not verified, that is for ir::verify(). Errors: as the makers of plans
/// (packing/plans.h), and for more ranks than spelled_out() takes.
Result<ir::Plan> schedule(const CollectivePlan& plan, const Network& network);

}  // namespace weir::algorithms
