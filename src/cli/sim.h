/// weir sim: how long a collective, or a row of them, would take on a topology.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "src/cli/task.h"

namespace weir::cli {

struct SimArguments {
  TaskArguments task;
  ScheduleArguments schedule;
  double hop_latency_us = 0;
  double alpha_us = 0;
  uint64_t slot_bytes = 0;
  int slots = 2;
  double pace = 0;
  uint64_t window = 0;
  int connections = 1;
  uint64_t burst = 0;
  std::string job;  ///< file
  bool json = false;
};

void add_sim(CLI::App& app, SimArguments& arguments);
/// The exit code.
int run_sim(const SimArguments& arguments);

}  // namespace weir::cli
