// SPDX-License-Identifier: Apache-2.0
/// Plans as thread blocks of MSCCL: the steps of each block of each GPU, in order.
/// Tests: tests/algorithms/msccl_test.cc
#pragma once

#include <vector>

#include "algorithms/ir/plan.h"
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
  int64_t last_send = -1;  ///< index of its last sending step
};

struct Blocks {
  std::vector<std::vector<MscclBlock>> gpus;
  std::vector<uint32_t> scratch;  ///< index: GPU; number of chunks
  int channels = 1;
};

/// Values that are passed on take one step if the block that receives them may also send there, and are
/// stored in memory otherwise. REQUIRES and errors: as write().
Result<Blocks> blocks_of(const ir::Plan& plan);

}  // namespace weir::msccl
