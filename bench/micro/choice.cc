// SPDX-License-Identifier: Apache-2.0
/// Time to choose plans: tables of a collective, including plans and profiles.
#include <benchmark/benchmark.h>

#include "algorithms/cost/table.h"

namespace weir {
namespace {

constexpr cost::Rates kServers = {{2e-7, 1e-7, 1e-10}, {1e-5, 3e-6, 3e-10}, 3e-11};

/// A cluster of hosts with 8 ranks each.
void BM_Table(benchmark::State& state, Collective kind) {
  const cost::Environment around = cost::regular(static_cast<int>(state.range(0)), 8, 64, kServers);
  for (auto _ : state) benchmark::DoNotOptimize(cost::CostTable(kind, around));
}
BENCHMARK_CAPTURE(BM_Table, all_reduce, Collective::all_reduce)
    ->Arg(8)
    ->Arg(256)
    ->Arg(1200)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_Table, all_to_all, Collective::all_to_all)
    ->Arg(256)
    ->Arg(1200)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace weir
