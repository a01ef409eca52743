// SPDX-License-Identifier: Apache-2.0
/// Time of making and verifying plans.
#include <benchmark/benchmark.h>

#include <string>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/ir/text.h"
#include "algorithms/ir/verify.h"

namespace weir {
namespace {

ir::Plan plan_of(const char* algorithm, Collective kind, int ranks) {
  const auto* entry = algorithms::find(algorithm, kind);
  return *algorithms::emit(algorithm, {kind, ranks, 0, algorithms::default_chunks(*entry, ranks)});
}

void count(benchmark::State& state, const ir::Plan& plan) {
  state.counters["moves"] = static_cast<double>(plan.moves.size());
  state.counters["time/move"] =
      benchmark::Counter(static_cast<double>(plan.moves.size()),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void BM_Emit(benchmark::State& state, const char* algorithm, Collective kind) {
  const auto ranks = static_cast<int>(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(plan_of(algorithm, kind, ranks));
  count(state, plan_of(algorithm, kind, ranks));
}

void BM_Verify(benchmark::State& state, const char* algorithm, Collective kind) {
  const ir::Plan plan = plan_of(algorithm, kind, static_cast<int>(state.range(0)));
  for (auto _ : state) {
    if (const Status status = ir::verify(plan); !status.ok()) state.SkipWithError(status.message().c_str());
  }
  count(state, plan);
}

void BM_ReadText(benchmark::State& state) {
  const ir::Plan plan = plan_of("ring", Collective::all_reduce, static_cast<int>(state.range(0)));
  const std::string text = ir::write_text(plan);
  for (auto _ : state) benchmark::DoNotOptimize(ir::read_text(text));
  count(state, plan);
}

BENCHMARK_CAPTURE(BM_Emit, ring_all_reduce, "ring", Collective::all_reduce)->Arg(8)->Arg(64)->Arg(256);
BENCHMARK_CAPTURE(BM_Verify, ring_all_reduce, "ring", Collective::all_reduce)
    ->Arg(8)
    ->Arg(64)
    ->Arg(256)
    ->Arg(1024)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_Verify, double_tree_all_reduce, "double_tree", Collective::all_reduce)
    ->Arg(64)
    ->Arg(1024);
BENCHMARK_CAPTURE(BM_Verify, one_shot_all_to_all, "one_shot", Collective::all_to_all)->Arg(64)->Arg(256);
BENCHMARK(BM_ReadText)->Arg(64);

}  // namespace
}  // namespace weir
