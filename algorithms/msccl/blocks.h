// SPDX-License-Identifier: Apache-2.0
/// Plans as thread blocks of MSCCL: which block of which GPU does what, in which order.
#pragma once

#include <vector>

#include "algorithms/ir/plan.h"
#include "weir/status.h"

namespace weir::msccl {

/// Another step of the same GPU.
struct Place {
  int block = -1;
  size_t step = 0;
};

/// Receives, sums, keeps and sends, each or not; or works within its GPU. Operands are in memory.
struct Step {
  enum class Kind : uint8_t { message, copy, reduce };
  Kind kind = Kind::message;
  size_t order = 0;  ///< steps can be done in this order
  bool receives = false;
  bool sends = false;
  ir::Operand source;  ///< what is sent or copied, or summed with what comes
  ir::Operand kept;    ///< where the result lies
  uint32_t chunks = 1;
  std::vector<Place> waits;  ///< must be done before, in other blocks; at most one of each
};

struct Block {
  Rank send = -1;
  Rank receive = -1;
  int channel = 0;
  std::vector<Step> steps;
  int64_t last_send = -1;  ///< its place in steps
};

struct Blocks {
  std::vector<std::vector<Block>> gpus;
  std::vector<uint32_t> scratch;  ///< by GPU: chunks
  int channels = 1;
};

/// Values that are handed on take one step where the block that receives them may send there too, and else
/// lie in memory. REQUIRES and errors: as write().
Result<Blocks> blocks_of(const ir::Plan& plan);

}  // namespace weir::msccl
