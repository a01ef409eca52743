// SPDX-License-Identifier: Apache-2.0
/// One move of a program as a launch of its own: weir_transfer, for executors that queue moves on streams
/// (stream_executor.h). It never waits, so it may share a GPU with anything.
///
/// The grid has `blocks` blocks; all their threads deal the elements out among themselves.
#pragma once

#include "src/base/types.h"
#include "src/exec/gpu/transfer.h"

namespace weir::exec::gpu {

/// The only argument of the kernel. Addresses are of the device that runs it. No end is in packets.
struct MoveLaunch {
  Transfer transfer;
  uint32_t blocks = 1;
  uint32_t element = 4;  ///< bytes
  DataType type = DataType::float32;
  RedOp op = RedOp::sum;
  uint64_t factor = 0;                   ///< as Launch has them
  const std::byte* factor_at = nullptr;  ///< likewise
  int64_t divisor = 1;
};
static_assert(sizeof(MoveLaunch) <= 256);

/// The kernel of libweir_host_kernels.so: as HostKernel.
using HostMoveKernel = void (*)(const MoveLaunch* launch, uint32_t block, uint32_t grid);

}  // namespace weir::exec::gpu
