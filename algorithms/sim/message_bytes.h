// SPDX-License-Identifier: Apache-2.0
/// The size of the messages of a plan, chosen as communicators choose it: a slot, half or a quarter of it.
///
/// Large messages cost less work, small ones are passed on sooner (docs/planning.md).
///
/// Pure.
/// Tests: tests/algorithms/sim_plans_test.cc, tests/cli/plan_test.cc
#pragma once

#include "algorithms/ir/plan.h"
#include "algorithms/network/network.h"
#include "algorithms/sim/plan_flows.h"
#include "src/base/status.h"

namespace weir::sim {

/// `channels`, whose slots have the size of the fastest messages; of equally fast ones the largest. REQUIRES
/// and errors: as simulate().
Result<Channels> with_fastest_messages(const ir::Plan& plan, double bytes, const Network& network,
                                       Channels channels);

}  // namespace weir::sim
