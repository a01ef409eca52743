// SPDX-License-Identifier: Apache-2.0
/// Time of simulations: ring steps over clusters, and whole plans.
#include <benchmark/benchmark.h>

#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/sim/rounds.h"
#include "algorithms/sim/simulate.h"

namespace weir {
namespace {

constexpr int kGpus = 8, kAdapters = 2, kHostsPerLeaf = 10;

void cable(algorithms::Network& network, int32_t a, int32_t b, double gigabytes) {
  const auto units = static_cast<int64_t>(gigabytes / algorithms::kCapacityUnit);
  network.edges.push_back({a, b, units, -1});
  network.edges.push_back({b, a, units, -1});
}

/// Hosts with 8 GPUs (300 GB/s inside) and two adapters of 25 GB/s, ten hosts per leaf, 4:1 to the spine.
algorithms::Network cluster(int hosts) {
  algorithms::Network network;
  for (int32_t rank = 0; rank < hosts * kGpus; ++rank) network.rank_nodes.push_back(network.nodes++);
  const int32_t spine = network.nodes++;
  int32_t leaf = 0;
  for (int host = 0; host < hosts; ++host) {
    if (host % kHostsPerLeaf == 0) {
      leaf = network.nodes++;
      cable(network, leaf, spine, kHostsPerLeaf * kAdapters * 25 / 4.0);
    }
    const int32_t inside = network.nodes++;
    const int32_t adapters = network.nodes;
    for (int adapter = 0; adapter < kAdapters; ++adapter) cable(network, network.nodes++, leaf, 25);
    for (int gpu = 0; gpu < kGpus; ++gpu) {
      cable(network, host * kGpus + gpu, inside, 300);
      cable(network, host * kGpus + gpu, adapters + gpu * kAdapters / kGpus, 25);
    }
  }
  return network;
}

/// Two rings, one out of each adapter, over hosts in order or shuffled.
std::vector<sim::Round> rings(int hosts, bool shuffled) {
  std::vector<int> order(static_cast<size_t>(hosts));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(1);
  for (size_t i = order.size() - 1; shuffled && i > 0; --i) std::swap(order[i], order[random() % (i + 1)]);
  std::vector<std::vector<Rank>> orders(kAdapters);
  for (int ring = 0; ring < kAdapters; ++ring) {
    for (const int host : order) {
      for (int gpu = 0; gpu < kGpus; ++gpu) {
        orders[static_cast<size_t>(ring)].push_back(host * kGpus + (gpu + ring * kGpus / kAdapters) % kGpus);
      }
    }
  }
  return sim::ring_rounds(Collective::all_reduce, orders, 1e9);
}

/// Routes and flows of one step of a single ring; `known`: routes are kept from step to step.
void BM_RingStep(benchmark::State& state, bool shuffled, bool known) {
  const auto hosts = static_cast<int>(state.range(0)) / kGpus;
  const algorithms::Network network = cluster(hosts), none;
  std::vector<sim::Round> rounds = rings(hosts, shuffled);
  rounds[0].transfers.resize(rounds[0].transfers.size() / kAdapters);
  sim::FlowRoutes kept(network);
  for (auto _ : state) {
    sim::FlowRoutes fresh(known ? none : network);
    auto prediction = sim::simulate(rounds, 1e9, network, known ? kept : fresh, {.hop_latency = 1e-6});
    if (!prediction.ok()) state.SkipWithError(prediction.status().message().c_str());
    benchmark::DoNotOptimize(prediction);
  }
}
BENCHMARK_CAPTURE(BM_RingStep, in_order, false, true)->Arg(1200)->Arg(10000)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_RingStep, random, true, true)->Arg(1200)->Arg(10000)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_RingStep, random_and_ways, true, false)
    ->Arg(1200)
    ->Arg(10000)
    ->Unit(benchmark::kMicrosecond);

/// A complete all-reduce on two rings: 5.8 million moves over 1,200 GPUs.
void BM_RingAllReduce(benchmark::State& state) {
  const auto hosts = static_cast<int>(state.range(0)) / kGpus;
  const algorithms::Network network = cluster(hosts);
  for (auto _ : state) {
    sim::FlowRoutes routes(network);
    benchmark::DoNotOptimize(sim::simulate(rings(hosts, false), 1e9, network, routes, {.hop_latency = 1e-6}));
  }
}
BENCHMARK(BM_RingAllReduce)->Arg(1200)->Arg(10000)->Unit(benchmark::kMicrosecond);

/// Rings over the GPUs of a host, over the GPUs of equal number on all hosts, and within hosts again.
void BM_HierarchicalAllReduce(benchmark::State& state) {
  const auto hosts = static_cast<int>(state.range(0)) / kGpus;
  const algorithms::Network network = cluster(hosts);
  constexpr double kBytes = 1e9;
  for (auto _ : state) {
    sim::Round inside{{}, kGpus - 1}, between{{}, 2 * (hosts - 1)};
    for (int host = 0; host < hosts; ++host) {
      for (int gpu = 0; gpu < kGpus; ++gpu) {
        const Rank self = host * kGpus + gpu;
        inside.transfers.push_back({self, host * kGpus + (gpu + 1) % kGpus, kBytes / kGpus});
        between.transfers.push_back({self, (host + 1) % hosts * kGpus + gpu, kBytes / kGpus / hosts});
      }
    }
    const std::vector<sim::Round> rounds = {inside, between, inside};
    sim::FlowRoutes routes(network);
    auto prediction = sim::simulate(rounds, kBytes, network, routes, {.hop_latency = 1e-6});
    if (!prediction.ok()) state.SkipWithError(prediction.status().message().c_str());
    benchmark::DoNotOptimize(prediction);
  }
}
BENCHMARK(BM_HierarchicalAllReduce)->Arg(1200)->Arg(10000)->Unit(benchmark::kMicrosecond);

/// A simulation move by move, with slots and lanes.
void BM_SimulatePlan(benchmark::State& state, const char* algorithm, Collective kind) {
  const auto ranks = static_cast<int>(state.range(0));
  const auto* entry = algorithms::find(algorithm, kind);
  const auto plan = *algorithms::emit(algorithm, {kind, ranks, 0, algorithms::default_chunks(*entry, ranks)});
  const algorithms::Network network = cluster(ranks / kGpus);
  sim::FlowRoutes routes(network);
  for (auto _ : state) {
    auto prediction = sim::simulate(plan, 1e8, network, routes, {.hop_latency = 1e-6, .alpha = 1e-6});
    if (!prediction.ok()) state.SkipWithError(prediction.status().message().c_str());
    benchmark::DoNotOptimize(prediction);
  }
  state.counters["moves"] = static_cast<double>(plan.moves.size());
  state.counters["time/move"] =
      benchmark::Counter(static_cast<double>(plan.moves.size()),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(BM_SimulatePlan, ring, "ring", Collective::all_reduce)
    ->Arg(64)
    ->Arg(256)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_SimulatePlan, double_tree, "double_tree", Collective::all_reduce)
    ->Arg(1200)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_SimulatePlan, halving_doubling, "halving_doubling", Collective::all_reduce)
    ->Arg(1024)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_SimulatePlan, pairwise, "pairwise", Collective::all_to_all)
    ->Arg(64)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace weir
