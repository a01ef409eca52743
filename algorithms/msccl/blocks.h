// SPDX-License-Identifier: Apache-2.0
/// Plans as thread blocks of MSCCL: the steps of each block of each GPU, in order.
/// Tests: tests/algorithms/msccl_test.cc
#pragma once

#include <vector>

#include "algorithms/ir/plan.h"
#include "algorithms/ir/symbolic.h"
#include "src/base/status.h"

namespace weir::msccl {

/// Refers to another step of the same GPU.
struct StepPosition {
  int block = -1;
  size_t step = 0;
};

/// Receives, sums, stores and sends, each optionally; or works within its GPU. Operands are in memory.
struct MscclStep {
  enum class Kind : uint8_t { message, copy, reduce };
  Kind kind = Kind::message;
  size_t order = 0;  ///< steps can be executed in ascending order
  bool receives = false;
  bool sends = false;
  ir::Operand source;  ///< operand to send, to copy, or to add to received data
  ir::Operand kept;    ///< destination of the result
  uint32_t chunks = 1;
  std::vector<StepPosition> waits;  ///< steps of other blocks that must precede it; at most one per block
};

struct MscclBlock {
  Rank send = -1;
  Rank receive = -1;
  int channel = 0;
  std::vector<MscclStep> steps;
};

struct Blocks {
  std::vector<std::vector<MscclBlock>> gpus;
  std::vector<uint32_t> scratch;  ///< index: GPU; number of chunks
  int channels = 1;
};

/// The placement in which most operands share memory: in place if the collective allows it.
ir::Placement tightest_placement(const ir::Shape& shape);

/// The steps of the plan on at most kMostBlocks blocks per GPU (connections.h). Their order is one in which
/// no block ever waits for a peer in a circle, even if a channel holds only two chunks: MSCCL divides large
/// messages into their chunks, and its channels hold two of these. A value that is sent on takes one step
/// where that order allows it, and is stored in memory otherwise. REQUIRES and errors: as write().
Result<Blocks> blocks_of(const ir::Plan& plan);

}  // namespace weir::msccl
