// SPDX-License-Identifier: Apache-2.0
/// One move of a program as a launch of its own: weir_transfer, for executors that queue moves on streams
/// (stream_executor.h). It never waits for other ranks, so it may share a GPU with any other work.
///
/// The grid has `blocks` blocks; all their threads divide the elements among themselves.
/// Tests: tests/exec/stream_executor_test.cc
#pragma once

#include "src/base/types.h"
#include "src/exec/gpu/transfer.h"

namespace weir::exec::gpu {

/// The only argument of the kernel. Addresses are those of the device that runs it. No source or destination
/// uses packets.
struct MoveLaunch {
  LaneTransfer transfer;
  uint32_t blocks = 1;
  uint32_t element = 4;  ///< bytes per element
  DataType type = DataType::float32;
  RedOp op = RedOp::sum;
  uint64_t factor = 0;                   ///< scalar, as in Launch
  const std::byte* factor_at = nullptr;  ///< address of the scalar, as in Launch
  int64_t divisor = 1;
};
static_assert(sizeof(MoveLaunch) <= 256);

/// The type of the kernel of libweir_host_kernels.so; see HostKernel.
using HostMoveKernel = void (*)(const MoveLaunch* launch, uint32_t block, uint32_t grid);

}  // namespace weir::exec::gpu
