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
#include "algorithms/sim/simulate.h"
#include "src/base/status.h"

namespace weir::sim {

/// A size of messages, and the simulation with it.
struct SizedMessages {
  double slot_bytes = 0;
  Prediction prediction;
};

/// The size of the fastest messages in these channels; of equally fast ones the largest. Sizes whose
/// simulation would take seconds are left out. `whole`: the simulation with whole slots. REQUIRES and errors:
/// as simulate().
Result<SizedMessages> fastest_messages(const ir::Plan& plan, double bytes, const Network& network,
                                       const Channels& channels, Prediction whole);

/// The simulation in messages of the size that the plan names, else of the fastest one; at most a slot.
/// REQUIRES and errors: as simulate().
Result<SizedMessages> simulate_fastest(const ir::Plan& plan, double bytes, const Network& network,
                                       Channels channels);

}  // namespace weir::sim
