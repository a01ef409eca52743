// SPDX-License-Identifier: Apache-2.0
/// Judges plans for many hosts without trusting who made them: shares no code with the planner, and computes
/// nothing but sums.
///
/// Between hosts: every host gets every block that is not its own exactly once, from a host that has it. As
/// one goes through the blocks from the first to the last, the tree of transfers that carries a block changes
/// by a few edges at a time; a forest (forest.h) watches that it stays a tree, so that nobody has to look at
/// every pair of a block and a host. Inside hosts, trees are judged by check_packing(), once per shape.
/// Between the two: what leaves and enters by gates adds up to whole blocks.
///
/// Pure and thread-safe. Time: linear in the plan, times the logarithm of the number of hosts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/cluster/cluster_plan.h"
#include "algorithms/network/ratio.h"
#include "algorithms/packing/rational.h"
#include "weir/status.h"

namespace weir::algorithms {

/// What a right plan puts on the network.
struct ClusterLoads {
  std::vector<Int128> parts;  ///< by edge: of blocks, that pass
  Int128 whole = 1;           ///< parts that all blocks have together
  Ratio time;                 ///< T / M, times one unit of capacity, as in Bound
  int32_t tightest = -1;      ///< the edge that takes so long
  std::vector<Int128> roots;  ///< by rank: parts that it is the root of
  /// What passes an edge, as a fraction of M.
  Ratio share(size_t edge) const { return {parts[edge], whole}; }
};

/// Proves that a plan brings the block of each rank with `blocks[rank]` 1 to all other ranks. Errors:
/// invalid_argument with the first thing that is wrong and where.
Result<ClusterLoads> check_cluster(const Network& network, const ClusterPlan& plan,
                                   std::span<const int32_t> blocks);

/// Halves of an all-reduce with free roots that work at the same time.
struct BothClusterLoads {
  ClusterLoads up;
  ClusterLoads down;
  Rational time;  ///< of the edge that both together keep busy the longest
};

/// Proves two plans with free roots right: `up`, of the reversed network, sums up what `down` spreads, so
/// each rank is the root of the same share of the data in both. Errors: as above.
Result<BothClusterLoads> check_both(const Network& network, const ClusterPlan& up, const ClusterPlan& down);

}  // namespace weir::algorithms
