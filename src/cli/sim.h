// SPDX-License-Identifier: Apache-2.0
/// weir sim: how long a collective, or a row of them, would take on a topology.
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
  std::string job;  ///< file
  bool json = false;
};

void add_sim(CLI::App& app, SimArguments& arguments);
/// The exit code.
int run_sim(const SimArguments& arguments);

}  // namespace weir::cli
