// SPDX-License-Identifier: Apache-2.0
/// The pace at which a rank's channels may send while a plan runs: a share of what hosts and links
/// carry (algorithms/sim/paces.h), by the rates that the communicator counts with.
///
/// Pure functions: thread-safe.
#pragma once

#include <span>
#include <vector>

#include "algorithms/cost/profile.h"
#include "algorithms/ir/plan.h"
#include "src/exec/program.h"

namespace weir::core {

/// By channel of the program, bytes per second; 0: any, for what comes in, signals, and peers on the same
/// host. `share`: of its fair one, such as 0.95. `order` and `around`: by place, as a communicator has
/// them.
std::vector<double> paces_of(const ir::Plan& plan, const exec::Program& program, double share,
                             std::span<const Rank> order, const cost::Environment& around);

}  // namespace weir::core
