// SPDX-License-Identifier: Apache-2.0
/// Where the values of a plan's moves are in memory when MSCCL++ executes it.
/// Tests: tests/algorithms/mscclpp_test.cc
#pragma once

#include <vector>

#include "algorithms/ir/plan.h"
#include "algorithms/msccl/work_order.h"
#include "algorithms/mscclpp/execution_plan.h"

namespace weir::mscclpp {

struct Values {
  /// Index: move. Where the source writes it, at the destination. Only if nothing at the destination has to
  /// precede it is this the move's own target; else it is scratch that is used for nothing else, so that no
  /// source ever waits.
  std::vector<ChunkSpan> received;
  std::vector<ChunkSpan> kept;    ///< index: move; where later moves find the value
  std::vector<uint64_t> scratch;  ///< index: rank; number of chunks
};

/// REQUIRES: ir::verify(plan) succeeded.
Values values_of(const ir::Plan& plan, const msccl::WorkOrder& order);

/// The memory of an operand of a move, at the rank that has it.
ChunkSpan span_of(const Values& values, ir::Operand operand, uint32_t chunks);

/// What the destination of a move does after it has received the data, or the rank of a local move: copies
/// and sums within the GPU.
std::vector<Operation> arrival_of(const ir::Plan& plan, const msccl::WorkOrder& order, const Values& values,
                                  size_t move);

}  // namespace weir::mscclpp
