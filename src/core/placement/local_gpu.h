// SPDX-License-Identifier: Apache-2.0
/// The GPU of a rank, chosen before its communicator was made, and checks that calls use it.
///
/// Thread-safe.
/// Tests: tests/core/local_gpu_test.cc
#pragma once

#include "src/base/status.h"
#include "src/base/types.h"
#include "src/core/call/streams.h"
#include "src/device/gpu.h"

namespace weir::core {

class LocalGpu {
 public:
  /// Both pointers stay valid to the end of the process. Null: the process uses no GPU; then check() must not
  /// be called.
  LocalGpu(device::Gpus* gpus, device::Gpu* gpu, Rank rank) : gpus_(gpus), gpu_(gpu), rank_(rank) {}

  device::Gpu& gpu() const { return *gpu_; }
  /// invalid_usage, naming both GPUs, if the stream belongs to another GPU. A driver's default stream counts
  /// as this GPU's, whichever GPU is current in the calling thread.
  Status check(const StreamPlace& place) const;
  /// The same for device memory; other memory always passes.
  Status check(const void* address) const;

 private:
  Status foreign(const char* what, const device::Gpu& other) const;

  device::Gpus* gpus_;
  device::Gpu* gpu_;
  Rank rank_;
};

}  // namespace weir::core
