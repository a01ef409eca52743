// SPDX-License-Identifier: Apache-2.0
// Overhead of the host device: finding the allocation of a buffer, and a host stream.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "src/device/host_memory.h"
#include "src/device/host_stream.h"

namespace weir::device {
namespace {

/// The look-up for every buffer of a collective, with `range` allocations in the process.
void find_allocation(benchmark::State& state) {
  MemoryRegistry registry;
  std::vector<void*> blocks;
  for (int64_t i = 0; i < state.range(0); ++i) blocks.push_back(registry.allocate(4096).value());
  const void* const wanted = blocks[blocks.size() / 2];
  for (auto _ : state) {
    auto found = registry.find(wanted, 4096);
    benchmark::DoNotOptimize(found);
  }
}
BENCHMARK(find_allocation)->Arg(1)->Arg(16)->Arg(500);

void find_nothing(benchmark::State& state) {
  MemoryRegistry registry;
  static_cast<void>(registry.allocate(4096));
  for (auto _ : state) {
    auto found = registry.find(&registry, 8);
    benchmark::DoNotOptimize(found);
  }
}
BENCHMARK(find_nothing);

/// Queues one task and waits for it.
void stream_round_trip(benchmark::State& state) {
  const std::unique_ptr<HostStream> stream = std::move(HostStream::create().value());
  for (auto _ : state) {
    stream->submit([] { return Status(); });
    if (!stream->synchronize().ok()) state.SkipWithError("the stream failed");
  }
}
BENCHMARK(stream_round_trip)->UseRealTime();

/// Queues many tasks, then waits: time per task.
void stream_tasks(benchmark::State& state) {
  const std::unique_ptr<HostStream> stream = std::move(HostStream::create().value());
  constexpr int kTasks = 256;
  for (auto _ : state) {
    for (int i = 0; i < kTasks; ++i) stream->submit([] { return Status(); });
    if (!stream->synchronize().ok()) state.SkipWithError("the stream failed");
  }
  state.SetItemsProcessed(kTasks * state.iterations());
}
BENCHMARK(stream_tasks)->UseRealTime();

}  // namespace
}  // namespace weir::device
