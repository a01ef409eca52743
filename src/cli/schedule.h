// SPDX-License-Identifier: Apache-2.0
/// Gets the schedule for a task from a file, an algorithm of the catalogue or the planner.
/// Tests: tests/cli/schedule_test.cc
#pragma once

#include <string>

#include "algorithms/best_plan/ranking.h"
#include "algorithms/ir/plan.h"
#include "algorithms/sim/plan_flows.h"
#include "src/cli/plan_task.h"

namespace CLI {
class App;
}

namespace weir::cli {

/// Reads a plan from a file (plan text, MSCCL XML or MSCCL++ JSON; "-": standard input). Does not verify it.
/// Errors: those of the reader, and invalid_argument for a file that cannot be read.
Result<ir::Plan> load_plan(const std::string& file);

/// Options that select the schedule.
struct ScheduleArguments {
  std::string plan;       ///< path of a plan file
  std::string algorithm;  ///< name in the catalogue; empty: the best plan for the topology
};
void add_schedule(CLI::App* command, ScheduleArguments& arguments);

/// A verified schedule for the task; the best plan is the fastest one with these channels. Errors: those of
/// load_plan(); invalid_argument for a plan for other ranks or another collective, or an incorrect one.
Result<ir::Plan> load_schedule(const ScheduleArguments& arguments, const PlanTask& task,
                               const PlanTaskArguments& asked, const sim::Channels& channels,
                               algorithms::Messages messages = algorithms::Messages::given);

}  // namespace weir::cli
