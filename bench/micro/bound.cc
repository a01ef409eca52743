// SPDX-License-Identifier: Apache-2.0
// Time of a lower bound: for clusters of hosts with 8 GPUs on an NVSwitch and 8 NICs on rails, 20 hosts per
// group of leaves; and for dense machines without a hierarchy.
#include <benchmark/benchmark.h>

#include "algorithms/bound/bound.h"

namespace weir::algorithms {
namespace {

void link(Network& network, int32_t a, int32_t b, int64_t gb_per_s) {
  network.edges.push_back({a, b, gb_per_s * 1'000'000});
  network.edges.push_back({b, a, gb_per_s * 1'000'000});
}

Network cluster(int hosts) {
  Network network;
  network.nodes = 1;  // the spine
  int32_t leaves = 0;
  for (int host = 0; host < hosts; ++host) {
    if (host % 20 == 0) {
      leaves = network.nodes;
      network.nodes += 8;
      for (int32_t leaf = leaves; leaf < leaves + 8; ++leaf) link(network, leaf, 0, 250);
    }
    const int32_t hub = network.nodes++;
    for (int32_t i = 0; i < 8; ++i) {
      const int32_t gpu = network.nodes++;
      const int32_t nic = network.nodes++;
      network.rank_nodes.push_back(gpu);
      link(network, gpu, hub, 300);
      link(network, gpu, nic, 25);
      link(network, nic, leaves + i, 25);
    }
  }
  return network;
}

/// Every rank has links to every other rank, with a few different bandwidths.
Network dense(int ranks) {
  Network network;
  network.nodes = ranks;
  for (int32_t a = 0; a < ranks; ++a) {
    network.rank_nodes.push_back(a);
    for (int32_t b = 0; b < a; ++b) link(network, a, b, 1 + (a * 7 + b * 3) % 5);
  }
  return network;
}

void measure(benchmark::State& state, const Network& network, Collective collective) {
  for (auto _ : state) {
    auto bound = lower_bound(network, collective);
    if (!bound.ok()) return state.SkipWithError(bound.status().message().c_str());
    benchmark::DoNotOptimize(bound);
  }
  state.counters["edges"] = static_cast<double>(network.edges.size());
}

void BM_BoundOfCluster(benchmark::State& state) {
  measure(state, cluster(static_cast<int>(state.range(1)) / 8), static_cast<Collective>(state.range(0)));
  state.SetLabel(std::string(name(static_cast<Collective>(state.range(0)))));
}

void BM_BoundOfDenseMachine(benchmark::State& state) {
  measure(state, dense(static_cast<int>(state.range(1))), static_cast<Collective>(state.range(0)));
  state.SetLabel(std::string(name(static_cast<Collective>(state.range(0)))));
}

const std::vector<int64_t> kCollectivesAsked = {
    static_cast<int64_t>(Collective::all_gather), static_cast<int64_t>(Collective::broadcast),
    static_cast<int64_t>(Collective::all_reduce), static_cast<int64_t>(Collective::all_to_all)};

BENCHMARK(BM_BoundOfCluster)
    ->Unit(benchmark::kMillisecond)
    ->ArgsProduct({kCollectivesAsked, {64, 1200, 10000, 100000}});
BENCHMARK(BM_BoundOfDenseMachine)->Unit(benchmark::kMillisecond)->ArgsProduct({kCollectivesAsked, {16, 128}});

}  // namespace
}  // namespace weir::algorithms
