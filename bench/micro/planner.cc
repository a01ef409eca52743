// SPDX-License-Identifier: Apache-2.0
// Time of planning from end to end: hosts with 8 GPUs on an NVSwitch and 8 NICs on rails, 20 hosts per group
// of leaves, 4:1.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "algorithms/cluster/hosts.h"
#include "algorithms/planner/planner.h"
#include "topology/formats/any.h"

namespace weir::algorithms {
namespace {

std::string line(int64_t gpus) {
  return fmt::format("{} x (8 gpu nvswitch 300, 8 nic 25) rail leaf by 20 4:1", gpus / 8);
}

topology::Graph graph_of(int64_t gpus) { return *topology::read_any({"the line", line(gpus)}, nullptr); }

Network network_of_line(const topology::Graph& graph) {
  return *network_of(graph, graph.all(topology::NodeKind::gpu));
}

void BM_ReadLine(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(graph_of(state.range(0)));
}

void BM_NetworkOf(benchmark::State& state) {
  const topology::Graph graph = graph_of(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(network_of_line(graph));
}

/// Bound, plan, and the check of both.
void BM_PlanCollective(benchmark::State& state) {
  const auto collective = static_cast<Collective>(state.range(0));
  const topology::Graph graph = graph_of(state.range(1));
  const Network network = network_of_line(graph);
  const std::vector<char> between = switches_between_hosts(network, graph);
  for (auto _ : state) {
    const auto plan = plan_collective(network, between, collective);
    if (!plan.ok()) return state.SkipWithError(plan.status().message().c_str());
    if (plan->part_of_bound != 1) return state.SkipWithError("the plan is slower than its bound");
  }
  state.SetLabel(std::string(name(collective)));
}

const std::vector<int64_t> kGpus = {1200, 10000, 100000};

BENCHMARK(BM_ReadLine)->Unit(benchmark::kMillisecond)->ArgsProduct({kGpus});
BENCHMARK(BM_NetworkOf)->Unit(benchmark::kMillisecond)->ArgsProduct({kGpus});
BENCHMARK(BM_PlanCollective)
    ->Unit(benchmark::kMillisecond)
    ->ArgsProduct({{static_cast<int64_t>(Collective::all_gather), static_cast<int64_t>(Collective::broadcast),
                    static_cast<int64_t>(Collective::all_reduce)},
                   kGpus});

}  // namespace
}  // namespace weir::algorithms
