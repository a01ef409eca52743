// SPDX-License-Identifier: Apache-2.0
/// The GPU of a rank, chosen before its communicator was made, and whether calls keep to it.
///
/// Thread-safe.
#pragma once

#include "src/base/types.h"
#include "src/core/call/streams.h"
#include "src/device/gpu.h"
#include "weir/status.h"

namespace weir::core {

class LocalGpu {
 public:
  /// Both live as long as the process. Null: the process uses no GPU; then nothing may be checked.
  LocalGpu(device::Gpus* gpus, device::Gpu* gpu, Rank rank) : gpus_(gpus), gpu_(gpu), rank_(rank) {}

  device::Gpu& gpu() const { return *gpu_; }
  /// invalid_usage, with both GPUs named, where the stream is of another one. The drivers' default streams
  /// are those of this GPU, whichever the calling thread has current.
  Status check(const StreamPlace& place) const;
  /// The same for device memory; other memory belongs to no GPU.
  Status check(const void* address) const;

 private:
  Status foreign(const char* what, const device::Gpu& other) const;

  device::Gpus* gpus_;
  device::Gpu* gpu_;
  Rank rank_;
};

}  // namespace weir::core
