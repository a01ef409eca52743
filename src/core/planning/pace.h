// SPDX-License-Identifier: Apache-2.0
/// The pace at which a rank's channels may send while a plan runs: a share of what hosts and links carry
/// (algorithms/sim/paces.h), at the communicator's rates.
///
/// Pure functions: thread-safe.
/// Tests: tests/core/pace_test.cc
#pragma once

#include <span>
#include <vector>

#include "algorithms/cost/profile.h"
#include "algorithms/ir/plan.h"
#include "src/exec/program.h"

namespace weir::core {

/// Paces by channel of the program, in bytes per second; 0, for receives, signals and peers on the same host:
/// unlimited. `share`: part of the fair share to use, such as 0.95. `order` and `around`: as the communicator
/// has them, indexed by position in the layout.
std::vector<double> paces_of(const ir::Plan& plan, const exec::Program& program, double share,
                             std::span<const Rank> order, const cost::Environment& around);

}  // namespace weir::core
