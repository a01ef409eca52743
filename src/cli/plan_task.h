// SPDX-License-Identifier: Apache-2.0
/// Input of the commands that plan: a collective among some devices of a topology.
/// Tests: tests/cli/plan_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/best_plan/best_plan.h"
#include "algorithms/network/network.h"
#include "src/base/types.h"
#include "src/cli/sources.h"

namespace CLI {
class App;
}

namespace weir::cli {

struct PlanTaskArguments {
  Sources sources;
  std::string collective = "allreduce";
  uint64_t bytes = uint64_t{1} << 30;  ///< size of the whole buffer
  std::string ranks;                   ///< numbers of GPUs, such as "0-7,9"; empty: all
  int root = 0;
  bool relay = false;  ///< GPUs that do not take part may forward
};

/// Adds the options and operands of a subcommand.
void add_plan_task(CLI::App* command, PlanTaskArguments& arguments);

struct PlanTask {
  topology::Graph graph;
  algorithms::Network network;
  std::vector<char> between_hosts;  ///< whether each node of the network is a switch that joins hosts
  Collective collective = Collective::all_reduce;
  double bytes = 0;  ///< size of the whole buffer

  /// REQUIRES: the task outlives what it gives.
  algorithms::PlanRequest request(Rank root) const {
    return {graph, network, between_hosts, collective, root, bytes};
  }
};

/// The host of each rank, as numbers from 0; a device without a host is one of its own.
std::vector<int> rank_hosts(const PlanTask& task);

/// Reads the topology; prints doubts to standard error.
Result<PlanTask> load_plan_task(const PlanTaskArguments& arguments);

/// The devices of the ranks: all GPUs, or all hosts if there are no GPUs; or the entries "0-7,9" of these, in
/// that order. Errors: invalid_argument for anything that is not in the list.
Result<std::vector<topology::Index>> devices_of(const topology::Graph& graph, const std::string& ranks);

/// Accepts "allreduce", "all_reduce", "AllReduce". Errors: invalid_argument for any other text.
Result<Collective> collective_of(const std::string& text);

}  // namespace weir::cli
