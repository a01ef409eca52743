// SPDX-License-Identifier: Apache-2.0
/// What must precede what when the moves of a plan are executed in another order than that of the list.
/// Tests: tests/algorithms/msccl_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithms/ir/plan.h"

namespace weir::msccl {

inline constexpr size_t kNoMove = SIZE_MAX;

/// The work that a move is for its source, and the work that it is for its destination; a local move is all
/// work of its source.
inline size_t sending(size_t move) { return 2 * move; }
inline size_t receiving(const ir::Plan& plan, size_t move) {
  return 2 * move + (plan.moves[move].src == plan.moves[move].dst ? 0 : 1);
}

struct WorkOrder {
  /// Index: move. The received move whose value it sends on, from memory or not; kNoMove: none.
  std::vector<size_t> maker;
  /// Index: move. How many later moves use its value, as a value.
  std::vector<uint32_t> uses;
  /// Index: move. Whether its value is used after its memory was overwritten.
  std::vector<char> needs_copy;
  /// Index: work. How many other work of the same rank must precede it.
  std::vector<uint32_t> pending;
  /// The work that must follow: that of work w is later[first[w]] to later[first[w + 1] - 1].
  std::vector<size_t> first;
  std::vector<size_t> later;
};

/// REQUIRES: ir::verify(plan) succeeded. Input and output count as one memory where they are one in place.
WorkOrder work_order_of(const ir::Plan& plan);

}  // namespace weir::msccl
