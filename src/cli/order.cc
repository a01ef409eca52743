// SPDX-License-Identifier: Apache-2.0

#include "src/cli/order.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <vector>

#include "src/base/text.h"
#include "src/cli/failure.h"
#include "src/cli/help_page.h"
#include "src/cli/plan_task.h"
#include "src/cli/rank_order.h"
#include "topology/formats/hostlist.h"

namespace weir::cli {
namespace {

using topology::Graph;
using topology::Index;
using topology::NodeKind;

constexpr int kMostSlots = 1024;
constexpr size_t kMostRanks = 1'000'000;

/// The hosts with these names, in that order; all hosts if no names are given.
Result<std::vector<Index>> hosts_named(const Graph& graph, const std::string& list) {
  std::vector<Index> all = graph.all(NodeKind::host);
  if (all.empty()) return Status(Code::invalid_argument, "the topology has no hosts");
  if (list.empty()) return all;
  size_t budget = topology::kMostNames;
  const auto names = topology::expand_hostlist(list, budget);
  if (!names.ok())
    return Status(Code::invalid_argument, fmt::format("--hosts: {}", names.status().message()));
  std::map<std::string, Index> known;
  for (const Index host : all) known.emplace(graph[host].name, host);
  std::set<std::string> seen;
  std::vector<Index> some;
  for (const std::string& name : *names) {
    const auto found = known.find(name);
    if (found == known.end())
      return Status(Code::invalid_argument,
                    fmt::format("--hosts has {}, which is not in the topology; its first host is {}", name,
                                graph[all[0]].name));
    if (!seen.insert(name).second)
      return Status(Code::invalid_argument,
                    fmt::format("--hosts has {} twice; expected each host once", name));
    some.push_back(found->second);
  }
  return some;
}

/// The host of each rank: host by host, one rank for each GPU, or `slots` ranks.
std::vector<Index> ranks_on(const Graph& graph, const std::vector<Index>& hosts, int slots) {
  std::map<Index, int> gpus;
  for (const Index gpu : graph.all(NodeKind::gpu)) ++gpus[graph.holder(gpu, NodeKind::host)];
  std::vector<Index> ranks;
  for (const Index host : hosts) {
    const int count = slots > 0 ? slots : std::max(gpus[host], 1);
    ranks.insert(ranks.end(), static_cast<size_t>(count), host);
  }
  return ranks;
}

Result<std::vector<Index>> hosts_of_ranks(const Graph& graph, const OrderArguments& arguments) {
  if (!arguments.ranks.empty()) {
    auto devices = devices_of(graph, arguments.ranks);
    WEIR_TRY(devices.status());
    for (Index& device : *devices) {
      device = graph.holder(device, NodeKind::host);
      if (device == topology::kNone)
        return Status(Code::invalid_argument, "the topology has GPUs that belong to no host");
    }
    return devices;
  }
  const auto hosts = hosts_named(graph, arguments.hosts);
  WEIR_TRY(hosts.status());
  std::vector<Index> ranks = ranks_on(graph, *hosts, arguments.slots);
  if (ranks.size() > kMostRanks)
    return Status(Code::invalid_argument,
                  fmt::format("the job has {} ranks; expected at most {}", ranks.size(), kMostRanks));
  return ranks;
}

/// What the order gains, for people; it goes to standard error so that files stay as launchers expect them.
void print_gain(const RankOrder& order) {
  if (order.leaf_groups < 2) {
    fmt::print(stderr,
               "note: all hosts have the same leaf switches, or none are known: their order does not "
               "change the load of links between leaf switches\n");
    return;
  }
  fmt::print(stderr,
             "note: {} on {}, which form {} with the same leaf switches; in a ring of the ranks {} of {} "
             "neighbours are in different groups, and {} in the given order\n",
             plural(order.ranks, "rank"), plural(static_cast<int64_t>(order.hosts.size()), "host"),
             plural(order.leaf_groups, "group"), order.crossings, order.ranks, order.given_crossings);
}

}  // namespace

void add_order(CLI::App& app, OrderArguments& arguments) {
  CLI::App* command = app.add_subcommand(
      "order", "Print an order of ranks that keeps their traffic inside leaf switches, for a launcher");
  add_sources(command, arguments.sources);
  auto* hosts = command->add_option("--hosts", arguments.hosts,
                                    "Names of the hosts of the job, such as node[01-04],node7, in the order "
                                    "to compare with; default: all");
  auto* ranks =
      command
          ->add_option("--ranks", arguments.ranks,
                       "Numbers of the GPUs (or hosts) of the job, such as 0-7,9; default: all of the hosts")
          ->excludes(hosts);
  command
      ->add_option("--slots", arguments.slots,
                   "Ranks per host; default: as many as the host has GPUs, or 1 if it has none")
      ->check(CLI::Range(1, kMostSlots))
      ->excludes(ranks);
  command
      ->add_option("--format", arguments.format,
                   "hostfile (Open MPI), openmpi-rankfile, mpich (a hostfile of MPICH), slurm (a file for "
                   "SLURM_HOSTFILE), kubernetes (commands that label nodes)")
      ->check(one_of({std::begin(kOrderFormats), std::end(kOrderFormats)}))
      ->capture_default_str();
}

int run_order(const OrderArguments& arguments) {
  std::unique_ptr<drivers::Machine> machine;
  const auto detected = look(arguments.sources, machine);
  if (!detected.ok()) return report_failure("order", detected.status(), kExitUsage);
  print_findings(*detected, arguments.sources);
  const auto ranks = hosts_of_ranks(detected->graph, arguments);
  if (!ranks.ok()) return report_failure("order", ranks.status(), kExitUsage);
  const RankOrder order = order_ranks(detected->graph, *ranks);
  const auto text = order_text(detected->graph, order, arguments.format);
  if (!text.ok()) return report_failure("order", text.status(), kExitUsage);
  fmt::print("{}", *text);
  print_gain(order);
  return 0;
}

}  // namespace weir::cli
