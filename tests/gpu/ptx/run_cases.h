// SPDX-License-Identifier: Apache-2.0
/// Runs the compiled lane kernels on their machine against Run, and sends and receives.
#pragma once

#include <fmt/format.h>

#include <string>

#include "algorithms/catalogue/direct.h"
#include "tests/exec/gpu_operation.h"
#include "tests/exec/gpu_ranks.h"
#include "tests/exec/pair_ranks.h"
#include "tests/gpu/ptx/lane_library.h"

namespace weir::exec::gpu {

/// What is run, and on what machine.
struct Case {
  const char* algorithm;
  Collective kind;
  int ranks;
  RingProtocol protocol;
  uint32_t threads;
  uint64_t seed;
  size_t count;
  uint32_t shards = 1;
  DataType type = DataType::float32;
  bool direct = false;  ///< ranks use each other's buffers
};

/// Of each case: times that it runs, and the most bytes of a chunk per pass.
inline constexpr uint64_t kRounds = 2;
inline constexpr size_t kTileBytes = 512;

/// Runs a collective kRounds times on the same rings. Returns what is wrong with the results, or nothing.
/// `messages`: becomes the number of messages that were sent; null: nobody asks.
inline std::string run_case(const Case& one, bool ends = false, uint64_t* messages = nullptr) {
  const algorithms::Entry& entry = *algorithms::find(one.algorithm, one.kind);
  ir::Plan plan = plan_of(entry, one.ranks);
  const std::vector<Program> in_channels = lower_all(plan);
  if (one.direct) plan = algorithms::direct(one.kind, one.ranks, plan.shape.root);
  const std::vector<Program> programs = one.direct ? lower_all(plan, Peers::buffers) : in_channels;
  RingOptions options;
  options.protocol = one.protocol;
  options.ordered = orders_memory(plan);
  options.shards = one.shards;
  options.direct = one.direct;
  GpuRanks ranks(programs, options);
  uint32_t blocks = 0;
  for (const Program& program : programs) blocks += ranks.launch(program.rank).lane_count * one.shards;
  library().set({one.threads, one.seed % 2 == 0 ? 2u : 8u, one.seed, blocks, ends});
  for (uint64_t round = 0; round < kRounds; ++round) {
    Work work;
    work.count = one.count;
    work.type = one.type;
    work.tag = round + 5;
    work.tile_bytes = kTileBytes;
    Operation want(programs[0].shape, work, 0, static_cast<uint32_t>(one.seed));
    Operation got(programs[0].shape, work, 0, static_cast<uint32_t>(one.seed));
    run_on_host(in_channels, want);
    ranks.run(got.works);
    for (size_t rank = 0; rank < programs.size(); ++rank)
      if (got.output[rank].words != want.output[rank].words)
        return fmt::format("{} over {} ranks: rank {} has another result", one.algorithm, one.ranks, rank);
  }
  for (const auto& [ends_of_ring, ring] : ranks.rings())
    if (messages != nullptr) *messages += ring->sent;
  return {};
}

}  // namespace weir::exec::gpu
