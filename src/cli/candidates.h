// SPDX-License-Identifier: Apache-2.0
/// All plans that could carry out a task, side by side.
#pragma once

#include <string>
#include <vector>

#include "algorithms/sim/plan_flows.h"
#include "src/cli/best_plan.h"

namespace weir::cli {

struct Candidate {
  std::string name;
  ir::Plan plan;
  double gb_per_s = 0;  ///< that its own routes are proved to carry; 0: it takes the shortest ones
};

/// More ranks are too many to simulate all plans move by move.
inline constexpr int kMostComparedRanks = 64;

/// `best`, called "planned" where it is trees, and then those of the library's catalogue that need no memory
/// of other ranks. Hosts and leaves of the task are their groups. Errors: of schedule().
Result<std::vector<Candidate>> candidates_for(const PlanTask& task, const BestPlan& best, Rank root);

struct Simulated {
  std::string name;
  double seconds = 0;
  std::vector<double> edge_bytes;
};

/// The quickest first. Plans with routes of their own take what they need without bytes, simulated, and then
/// for the bytes what is proved; the others are simulated. Errors: of sim::simulate().
Result<std::vector<Simulated>> race(const PlanTask& task, const std::vector<Candidate>& candidates,
                                    double bytes, const sim::Channels& channels);

/// By size, from 1 KiB to 4 GiB: what is quickest, and the next. Errors: as above.
Result<std::string> table_of(const PlanTask& task, const std::vector<Candidate>& candidates,
                             const sim::Channels& channels);

}  // namespace weir::cli
