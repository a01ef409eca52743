// SPDX-License-Identifier: Apache-2.0
/// Sharing between GPUs and processes: access to GPU memory from another process or another GPU, and events
/// that order streams of several processes.
///
/// Thread-safe. Errors: as src/device/gpu.h; messages name the memory or the GPU.
/// Tests: tests/device/gpu_sharing_test.cc
#pragma once

#include "src/device/gpu.h"

namespace weir::device {

class GpuSharing {
 public:
  virtual ~GpuSharing() = default;

  /// Makes a handle with which another process attaches to the allocation that contains `memory`, an address
  /// of kind `device` on this GPU from cudaMalloc or Gpu::allocate (drivers refuse memory of pools and
  /// virtual mappings).
  virtual Result<GpuShareHandle> share(const void* memory) = 0;
  /// Maps the memory of a handle and returns its address in this process, including the handle's offset. The
  /// handle must come from another process; drivers refuse a process's own handle. Attaching a handle again
  /// gives the same mapping, which must be detached equally often.
  virtual Result<void*> attach(const GpuShareHandle& handle) = 0;
  /// Undoes one attach(). REQUIRES: no queued operation uses the memory. Errors: invalid_argument for an
  /// address that attach() did not return.
  virtual Status detach(void* memory) = 0;

  /// Lets kernels and copies of this GPU access the other GPU's memory from now on; a repeated call is not an
  /// error.
  virtual Status reach(Gpu& other) = 0;
};

using GpuEvent = void*;

/// Whether an event orders streams of one process or of several. Only an event of kind `streams` may be
/// recorded while a stream is captured.
enum class GpuEventUse : uint8_t { streams, processes };

/// The handle with which another process opens an event.
struct GpuEventHandle {
  std::array<std::byte, 64> bytes{};
};

class GpuEvents {
 public:
  virtual ~GpuEvents() = default;

  /// Makes an event. One of kind `processes` can be opened by another process; streams of both processes can
  /// record it and wait for it.
  virtual Result<GpuEvent> make(GpuEventUse use) = 0;
  virtual Result<GpuEventHandle> share(GpuEvent event) = 0;
  virtual Result<GpuEvent> open(const GpuEventHandle& handle) = 0;
  virtual Status destroy(GpuEvent event) = 0;
  /// Records in the event all operations queued on the stream so far.
  virtual Status record(GpuEvent event, GpuStream stream) = 0;
  /// Makes the stream wait for the operations that are recorded in the event at this call. An event that was
  /// never recorded does not make it wait.
  virtual Status wait(GpuEvent event, GpuStream stream) = 0;
};

}  // namespace weir::device
