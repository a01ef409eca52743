// SPDX-License-Identifier: Apache-2.0
/// All plans that can carry out a task, for comparison.
/// Tests: tests/cli/plan_test.cc
#pragma once

#include <string>
#include <vector>

#include "algorithms/best_plan/best_plan.h"
#include "algorithms/sim/plan_flows.h"
#include "src/cli/plan_task.h"

namespace weir::cli {

struct Candidate {
  std::string name;
  ir::Plan plan;
  double gb_per_s = 0;  ///< rate that is proved for its own routes; 0: it uses the shortest routes
};

/// Limit for simulating all plans move by move.
inline constexpr int kMostComparedRanks = 64;

/// `best`, named "planned" if it consists of trees, followed by the plans of the catalogue that do not access
/// other ranks' memory. Hosts and leaves of the task are the groups of ranks. Errors: those of schedule().
Result<std::vector<Candidate>> candidates_for(const PlanTask& task, const algorithms::BestPlan& best,
                                              Rank root);

struct Simulated {
  std::string name;
  double seconds = 0;
  std::vector<double> edge_bytes;
};

/// Sorted by time, the fastest first. A plan with its own routes takes its simulated time for 0 bytes plus
/// the time for the bytes at the proved rate; all other plans are simulated. Errors: those of
/// sim::simulate().
Result<std::vector<Simulated>> race(const PlanTask& task, const std::vector<Candidate>& candidates,
                                    double bytes, const sim::Channels& channels);

/// A table over sizes from 1 KiB to 4 GiB: the fastest plan and the second fastest. Errors: those of race().
Result<std::string> table_of(const PlanTask& task, const std::vector<Candidate>& candidates,
                             const sim::Channels& channels);

}  // namespace weir::cli
