// SPDX-License-Identifier: Apache-2.0
/// Help for tests that compare executors with Run: operations on all ranks, and what Run makes of them.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "src/exec/gpu/image.h"
#include "tests/algorithms/some_layout.h"
#include "tests/exec/island.h"

namespace weir::exec::gpu {

struct Buffers {
  std::vector<uint64_t> words;
  size_t shift = 0;  ///< misalignment in bytes
  std::byte* data() { return reinterpret_cast<std::byte*>(words.data()) + shift; }
};

/// One operation on all ranks: random input, output that is not zero.
struct Operation {
  Operation(const ir::Shape& shape, Work work, size_t shift, uint32_t seed) {
    std::mt19937_64 random(seed);
    for (Rank rank = 0; rank < shape.ranks; ++rank) {
      const size_t bytes = work.count * size_of(work.type);
      input.push_back({std::vector<uint64_t>(ir::input_blocks(shape, rank) * bytes / 8 + 3), shift});
      output.push_back({std::vector<uint64_t>(ir::output_blocks(shape, rank) * bytes / 8 + 3, 77), shift});
      for (uint64_t& word : input.back().words) word = random();
      work.input = input.back().data();
      work.output = output.back().data();
      works.push_back(work);
    }
  }
  std::vector<Buffers> input, output;
  std::vector<Work> works;
};

/// The result of Run.
inline void run_on_host(const std::vector<Program>& programs, Operation& operation) {
  exec::Island island(static_cast<int>(programs.size()));
  Bound bound(island, programs);
  std::vector<Task*> tasks;
  for (const Program& program : programs) {
    bound.run(program.rank).start(operation.works[static_cast<size_t>(program.rank)]);
    tasks.push_back(&bound.run(program.rank));
  }
  const Status status = finish(tasks);
  ASSERT_TRUE(status.ok()) << status.message();
}

inline ir::Plan plan_of(const algorithms::Entry& entry, int ranks) {
  const algorithms::Layout layout = algorithms::some_layout(ranks);
  ir::Shape shape{entry.kind, ranks, 0, algorithms::default_chunks(entry, ranks, layout)};
  if (has_root(entry.kind)) shape.root = ranks - 1;
  auto plan = algorithms::emit(entry.algorithm, shape, layout);
  EXPECT_TRUE(plan.ok());
  return std::move(*plan);
}

}  // namespace weir::exec::gpu
