// SPDX-License-Identifier: Apache-2.0
/// weir sim: simulated time of a collective, or of a sequence of collectives, on a topology.
/// Tests: tests/cli/schedule_test.cc
#pragma once

#include <string>

#include "src/cli/channels.h"
#include "src/cli/schedule.h"

namespace CLI {
class App;
}

namespace weir::cli {

struct SimArguments {
  PlanTaskArguments task;
  ScheduleArguments schedule;
  ChannelArguments channels;
  std::string job;  ///< path of a file of steps; empty: one collective
  bool json = false;
};

void add_sim(CLI::App& app, SimArguments& arguments);
/// Returns the exit code.
int run_sim(const SimArguments& arguments);

}  // namespace weir::cli
