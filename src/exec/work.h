// SPDX-License-Identifier: Apache-2.0
/// One operation in bytes at last: what a program or a fast path is run on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/base/types.h"
#include "src/device/reduce.h"
#include "src/exec/division.h"

namespace weir::exec {

/// Plain data. `tag` is the operation's sequence number and signature: every message carries it, and a
/// message with another tag ends the run. `tile_bytes` is the same on all ranks, and a multiple of
/// kGrainBytes unless it is more than there is room for.
struct Work {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  size_t count = 0;  ///< elements per block
  DataType type = DataType::float32;
  RedOp op = RedOp::sum;
  bool scales = false;  ///< multiply own input by `factor` when it is read
  device::Scalar factor = {};
  /// Instead of `factor`, for GPUs alone: where kernels read it when they run. Null: `factor` counts.
  const std::byte* factor_at = nullptr;
  int64_t divisor = 1;  ///< divide final sums of integers by this
  uint64_t tag = 0;
  size_t tile_bytes = SIZE_MAX;  ///< most bytes of a chunk in a pass, as far as there is room for them
};

}  // namespace weir::exec
