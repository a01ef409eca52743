// SPDX-License-Identifier: Apache-2.0
/// The operations of an execution plan as moves of a plan.
/// Tests: tests/algorithms/mscclpp_test.cc
#pragma once

#include <vector>

#include "algorithms/ir/builder.h"
#include "algorithms/msccl/file_memory.h"
#include "algorithms/mscclpp/execution_plan.h"

namespace weir::mscclpp {

/// A span of a rank's memory.
struct RankSpan {
  Rank rank = 0;
  ChunkSpan span;
};

class Moves {
 public:
  explicit Moves(const ExecutionPlan& plan);

  /// What an operation does with data: `from` and `to` are its operands, with their ranks.
  void add(OperationKind kind, std::vector<RankSpan> from, const std::vector<RankSpan>& to);
  /// The plan, with lanes. In one buffer, a rank's own data may be in its final position from the beginning.
  ir::Plan take();

  /// The memory of all ranks as chunks; chunks that are the same memory have the same number.
  size_t chunk(const RankSpan& span, uint32_t number) const;
  size_t chunks() const { return first_.back(); }

 private:
  /// target = with + from, or from.
  void move(const RankSpan& from, const RankSpan* with, const RankSpan& to);

  const ExecutionPlan& plan_;
  ir::Builder builder_;
  std::vector<msccl::FileMemory> memory_;  // index: rank
  std::vector<size_t> first_;              // index: rank; its first chunk, and the number of all at the end
};

}  // namespace weir::mscclpp
