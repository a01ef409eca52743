// SPDX-License-Identifier: Apache-2.0
/// Plans for many hosts: trees inside hosts, computed once per shape of host; rings in rings between hosts.
///
/// Pure and deterministic; thread-safe. Time: about linear in the network, plus a packing per shape.
/// Tests: tests/algorithms/free_cluster_test.cc
#pragma once

#include <cstdint>
#include <span>

#include "algorithms/cluster/cluster_plan.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// A plan that spreads the blocks of the ranks that have one (`blocks[rank]` is 1, else 0) to all others. The
/// `skip` widest levels of host groups (hosts.h) are ignored: traffic across their borders may then exceed
/// the minimum, but if they are very unequal, hosts send less. Not judged: see check_cluster()
/// (proof/cluster_proof.h).
///
/// Errors: invalid_argument for a network that check() refuses, or that cannot be divided into hosts as
/// needed (hosts.h, gates.h, ways.h).
Result<ClusterPlan> plan_cluster(const Network& network, std::span<const char> between_hosts,
                                 std::span<const int32_t> blocks, int skip = 0);

/// The halves of an all-reduce with free roots.
struct FreeRoots {
  ClusterPlan up;    ///< adds up: a plan of the reversed network
  ClusterPlan down;  ///< spreads, along the same trees of hosts
};

/// A plan for an all-reduce over unequal hosts. Instead of equal shares per rank, hosts get as many
/// neighbours in the trees as their borders and their inside allow (degrees.h, caterpillars.h); slow hosts
/// are leaves. Not judged: see check_both() (proof/cluster_proof.h). Errors: as plan_cluster().
Result<FreeRoots> plan_free_roots(const Network& network, std::span<const char> between_hosts);

}  // namespace weir::algorithms
