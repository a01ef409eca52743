// SPDX-License-Identifier: Apache-2.0
/// Judges plans for many hosts independently of the planner: shares no code with it, and computes only sums.
///
/// Between hosts: every host receives every block that is not its own exactly once, from a host that has it.
/// From one block to the next, the tree of transfers changes by a few edges at a time; a forest (forest.h)
/// checks that it stays a tree, so that pairs of a block and a host need not be enumerated. Inside hosts,
/// trees are judged by check_packing(), once per shape. Between the two: the parts that enter and leave by
/// gates add up to whole blocks.
///
/// Pure and thread-safe. Time: linear in the plan, times the logarithm of the number of hosts.
/// Tests: tests/algorithms/cluster_proof_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/cluster/cluster_plan.h"
#include "algorithms/network/ratio.h"
#include "algorithms/packing/rational.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// The load of a valid plan on the network.
struct ClusterLoads {
  std::vector<Int128> parts;  ///< index: edge; number of parts of blocks that pass
  Int128 whole = 1;           ///< number of parts of all blocks together
  Ratio time;                 ///< T / M, times one unit of capacity, as in Bound
  int32_t tightest = -1;      ///< the edge that takes that long
  std::vector<Int128> roots;  ///< index: rank; number of parts of which it is the root
  /// The load of an edge as a fraction of M.
  Ratio share(size_t edge) const { return {parts[edge], whole}; }
};

/// Proves that a plan brings the block of each rank with `blocks[rank]` 1 to all other ranks. Errors:
/// invalid_argument with the first problem and its position.
Result<ClusterLoads> check_cluster(const Network& network, const ClusterPlan& plan,
                                   std::span<const int32_t> blocks);

/// The halves of an all-reduce with free roots that run at the same time.
struct BothClusterLoads {
  ClusterLoads up;
  ClusterLoads down;
  Rational time;  ///< time of the edge that both together keep busy longest
};

/// Proves that two plans with free roots are valid: `up`, of the reversed network, sums what `down` spreads,
/// so each rank is the root of the same share of the data in both. Errors: as above.
Result<BothClusterLoads> check_both(const Network& network, const ClusterPlan& up, const ClusterPlan& down);

}  // namespace weir::algorithms
