// SPDX-License-Identifier: Apache-2.0
/// The fastest plan for each size, by simulation.
/// Tests: tests/cli/plan_test.cc
#pragma once

#include <string>

#include "algorithms/best_plan/ranking.h"
#include "algorithms/sim/plan_flows.h"
#include "src/cli/plan_task.h"

namespace weir::cli {

/// Limit for simulating all plans for all sizes.
inline constexpr int kMostTableRanks = 64;

/// A table over sizes from 1 KiB to 4 GiB: the fastest plan and the second fastest of the catalogue and the
/// trees of `best`. Errors: invalid_argument for more than kMostTableRanks ranks; those of schedule() and
/// sim::simulate().
Result<std::string> table_of(const PlanTask& task, const algorithms::BestPlan& best, Rank root,
                             const sim::Channels& channels);

}  // namespace weir::cli
