// SPDX-License-Identifier: Apache-2.0
/// weir explain: how many bytes of a collective each link of a topology carries.
/// Tests: tests/cli/schedule_test.cc
#pragma once

#include "src/cli/schedule.h"

namespace CLI {
class App;
}

namespace weir::cli {

struct ExplainArguments {
  PlanTaskArguments task;
  ScheduleArguments schedule;
};

void add_explain(CLI::App& app, ExplainArguments& arguments);
/// The exit code.
int run_explain(const ExplainArguments& arguments);

}  // namespace weir::cli
