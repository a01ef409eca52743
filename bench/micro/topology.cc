// SPDX-License-Identifier: Apache-2.0
// Time of loading, merging and classifying a cluster of 10,000 GPUs: 1250 hosts with 8 GPUs, 320 leaves and
// 16 spines.
#include <benchmark/benchmark.h>

#include <array>

#include "topology/formats/nccl_xml.h"
#include "topology/formats/synthetic.h"
#include "topology/model/check.h"
#include "topology/model/derive.h"
#include "topology/model/merge.h"

namespace weir::topology {
namespace {

Graph machine_of(const char* line) {
  auto machine = read_synthetic({"line", line});
  return graph_of(*machine);
}

constexpr const char* kCluster =
    "1250 x (2 numa, 8 gpu nvswitch 450 pcie 63, 8 nic 50) rail leaf by 32 spine 16";

void BM_Load(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(machine_of(kCluster));
}

void BM_Merge(benchmark::State& state) {
  const Graph cluster = machine_of(kCluster);
  const std::array<Graph, 2> parts = {cluster, cluster};
  for (auto _ : state) benchmark::DoNotOptimize(merge(parts));
}

void BM_Check(benchmark::State& state) {
  const Graph cluster = machine_of(kCluster);
  for (auto _ : state) {
    if (const Status status = check(cluster); !status.ok()) state.SkipWithError(status.message().c_str());
  }
}

void BM_Classify(benchmark::State& state) {
  const Graph cluster = machine_of(kCluster);
  for (auto _ : state) {
    benchmark::DoNotOptimize(islands(cluster));
    benchmark::DoNotOptimize(meshes(cluster));
    benchmark::DoNotOptimize(leaves(cluster));
    benchmark::DoNotOptimize(rails(cluster));
    benchmark::DoNotOptimize(host_classes(cluster));
  }
}

void BM_ReadNcclXml(benchmark::State& state) {
  const std::string text =
      write_nccl_xml({NcclDialect::nccl, machine_of("(2 numa, 8 gpu nvswitch 450, 8 nic 50)")});
  for (auto _ : state) benchmark::DoNotOptimize(read_nccl_xml({"bench", text}));
}

BENCHMARK(BM_Load)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Merge)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Check)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Classify)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ReadNcclXml)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace weir::topology
