// SPDX-License-Identifier: Apache-2.0
/// One operation with its buffers and sizes, on which a program or a fast path is run.
/// Tests: tests/exec/gpu_lane_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/base/types.h"
#include "src/device/reduce.h"
#include "src/exec/division.h"

namespace weir::exec {

/// Plain data. `tag` is the operation's sequence number and signature: every message carries it, and a
/// message with another tag ends the run. `tile_bytes` is the same on all ranks, and a multiple of
/// kGrainBytes unless it exceeds the capacity.
struct Work {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  size_t count = 0;  ///< number of elements per block
  DataType type = DataType::float32;
  RedOp op = RedOp::sum;
  bool scales = false;  ///< whether own input is multiplied by `factor` when it is read
  device::Scalar factor = {};
  /// For GPUs only: the address from which kernels read the factor when they run. Null: `factor` is used.
  const std::byte* factor_at = nullptr;
  int64_t divisor = 1;  ///< number by which final sums of integers are divided
  uint64_t tag = 0;
  size_t tile_bytes = SIZE_MAX;  ///< maximum number of bytes of a chunk in a pass, limited by the capacity
};

}  // namespace weir::exec
