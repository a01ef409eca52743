// SPDX-License-Identifier: Apache-2.0
/// weir plan: a plan for a collective on a topology, its bandwidth, and the links that limit it.
/// Tests: tests/cli/plan_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "src/cli/channels.h"
#include "src/cli/plan_task.h"

namespace CLI {
class App;
}

namespace weir::cli {

struct PlanArguments {
  PlanTaskArguments task;
  bool json = false;
  bool svg = false;
  bool html = false;
  bool table = false;
  ChannelArguments channels;  ///< simulated channels for --table
  std::string emit;           ///< "plan", "msccl-xml", "mscclpp-json", "nccl-graph"; empty: print a summary
  std::string host;           ///< for "nccl-graph": the host whose rings are written; empty: the only one
  bool compare = false;       ///< published figures beside ours; the task does not count
  bool in_place = false;      ///< for "mscclpp-json": mark the plan for calls in place
};

void add_plan(CLI::App& app, PlanArguments& arguments);
/// Returns the exit code.
int run_plan(const PlanArguments& arguments);

}  // namespace weir::cli
