// SPDX-License-Identifier: Apache-2.0
/// Expands a plan for many hosts into trees over ranks.
/// Tests: tests/algorithms/free_cluster_test.cc, tests/algorithms/cluster_test.cc
#pragma once

#include "algorithms/cluster/cluster_plan.h"
#include "algorithms/packing/rational.h"
#include "algorithms/packing/trees.h"
#include "src/base/status.h"

namespace weir::algorithms {

inline constexpr int kMostSpelled = 512;

/// The trees that a plan represents, each rooted at the rank that owns its data. `time`: the time of the
/// plan, which determines the trees' bandwidth. REQUIRES: check_cluster() or check_both()
/// (proof/cluster_proof.h) accepts the plan for that network. Errors: invalid_argument for more than
/// kMostSpelled ranks.
Result<Packing> spelled_out(const Network& network, const ClusterPlan& plan, const Rational& time);

}  // namespace weir::algorithms
