// SPDX-License-Identifier: Apache-2.0
/// Where commands take a schedule for a task from: a file, the library's algorithms, the planner.
#pragma once

#include <string>

#include "algorithms/ir/plan.h"
#include "src/cli/plan_task.h"

namespace CLI {
class App;
}

namespace weir::cli {

/// A plan from a file (plan text or MSCCL XML; "-": standard input). Not verified. Errors: of the reader, and
/// invalid_argument for a file that cannot be read.
Result<ir::Plan> load_plan(const std::string& file);

/// Where a command takes the schedule from.
struct ScheduleArguments {
  std::string plan;       ///< file
  std::string algorithm;  ///< of the catalogue; empty: the best plan for the topology
};
void add_schedule(CLI::App* command, ScheduleArguments& arguments);

/// A schedule for the task, verified. Errors: as above; a plan for other ranks or another collective, or one
/// that is wrong.
Result<ir::Plan> load_schedule(const ScheduleArguments& arguments, const PlanTask& task,
                               const PlanTaskArguments& asked);

}  // namespace weir::cli
