// SPDX-License-Identifier: Apache-2.0
/// Plans for many hosts: inside by trees, once for each shape of host; between hosts by rings in rings.
///
/// Pure and deterministic; thread-safe. Time: about linear in the network, and a packing per shape.
#pragma once

#include <cstdint>
#include <span>

#include "algorithms/cluster/cluster_plan.h"
#include "weir/status.h"

namespace weir::algorithms {

/// A plan that spreads the blocks of the ranks that have one (`blocks[rank]` is 1, else 0) to all others. Of
/// the groups that hosts form (hosts.h) the `skip` widest levels are ignored: what crosses their borders may
/// then be more than the least, but where they are very uneven hosts send less. Not judged: that is for
/// check_cluster() (proof/cluster_proof.h).
///
/// Errors: invalid_argument for a network that check() refuses, or where it does not divide into hosts as
/// this needs (hosts.h, gates.h, ways.h).
Result<ClusterPlan> plan_cluster(const Network& network, std::span<const char> between_hosts,
                                 std::span<const int32_t> blocks, int skip = 0);

/// The halves of an all-reduce with free roots.
struct FreeRoots {
  ClusterPlan up;    ///< sums: a plan of the reversed network
  ClusterPlan down;  ///< spreads, along the same trees of hosts
};

/// A plan for an all-reduce over hosts that are not alike. Instead of equal shares per rank, hosts get as
/// many neighbours in the trees as their borders and what is in them bear (degrees.h, caterpillars.h); slow
/// hosts are leaves. Not judged: that is for check_both() (proof/cluster_proof.h). Errors: as plan_cluster().
Result<FreeRoots> plan_free_roots(const Network& network, std::span<const char> between_hosts);

}  // namespace weir::algorithms
