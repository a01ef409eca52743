/// What commands that plan work on: a collective among some devices of a topology, and a schedule for it.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/ir/plan.h"
#include "algorithms/net/network.h"
#include "algorithms/planner/planner.h"
#include "src/cli/sources.h"

namespace weir::cli {

struct TaskArguments {
  Sources sources;
  std::string collective = "allreduce";
  uint64_t bytes = uint64_t{1} << 30;  ///< of the whole
  std::string ranks;                   ///< numbers of GPUs, "0-7,9"; empty: all
  int root = 0;
};

/// Options and operands of a subcommand.
void add_task(CLI::App* command, TaskArguments& arguments);

struct Task {
  topology::Graph graph;
  algorithms::Network network;
  std::vector<char> between_hosts;  ///< by node of the network: a switch that joins hosts
  Collective collective = Collective::all_reduce;
  double bytes = 0;  ///< of the whole
};

/// Looks at the topology; doubts go to standard error.
Result<Task> load_task(const TaskArguments& arguments);

/// The best plan for the task, judged. Errors: of plan_collective().
Result<algorithms::CollectivePlan> plan_task(const Task& task, Rank root);

/// "allreduce", "all_reduce", "AllReduce". Errors: invalid_argument for what is no collective.
Result<Collective> collective_of(const std::string& text);

/// A plan from a file (plan text or MSCCL XML; "-": standard input). Not verified. Errors: of the reader, and
/// invalid_argument for a file that cannot be read.
Result<ir::Plan> load_plan(const std::string& file);

/// That of an algorithm of the catalogue, in the order and with the groups that communicators would take; its
/// rings are those that fill the network best. Errors: of algorithms::emit() and algorithms::pack_rings(),
/// and invalid_argument for a plan that only one order of ranks has.
Result<ir::Plan> plan_by(std::string_view algorithm, const Task& task, Rank root);

/// Where a command takes the schedule from.
struct ScheduleArguments {
  std::string plan;       ///< file
  std::string algorithm;  ///< of the catalogue; empty: the best plan for the topology
};
void add_schedule(CLI::App* command, ScheduleArguments& arguments);

/// A schedule for the task, verified. Errors: as above; a plan for other ranks or another collective, or one
/// that is wrong.
Result<ir::Plan> load_schedule(const ScheduleArguments& arguments, const Task& task,
                               const TaskArguments& asked);

}  // namespace weir::cli
