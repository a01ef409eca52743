// SPDX-License-Identifier: Apache-2.0
/// What GPUs and processes have of each other's: memory of a GPU in another process or on another GPU, and
/// events that order streams of several processes.
///
/// Thread-safe. Errors: as src/device/gpu.h; a refusal says whose memory or which GPU.
#pragma once

#include "src/device/gpu.h"

namespace weir::device {

class GpuSharing {
 public:
  virtual ~GpuSharing() = default;

  /// What another process attaches to the allocation around `memory` with: an address of kind device on this
  /// GPU, from cudaMalloc or Gpu::allocate (memory of pools and of virtual mappings is refused by drivers).
  virtual Result<GpuShareHandle> share(const void* memory) = 0;
  /// The same memory as this process names it, at the handle's offset. The handle is another process's;
  /// drivers refuse a process's own. A handle that is attached already gives the same mapping again, to be
  /// detached as often.
  virtual Result<void*> attach(const GpuShareHandle& handle) = 0;
  /// REQUIRES: nothing that is queued uses the memory. Errors: invalid_argument for what attach() did not
  /// give.
  virtual Status detach(void* memory) = 0;

  /// Kernels and copies of this GPU may use memory of the other from now on; again is no error.
  virtual Status reach(Gpu& other) = 0;
};

using GpuEvent = void*;

/// Whose streams an event orders. One of `streams` alone may be recorded while a stream is captured.
enum class GpuEventUse : uint8_t { streams, processes };

/// What another process opens an event with.
struct GpuEventHandle {
  std::array<std::byte, 64> bytes{};
};

class GpuEvents {
 public:
  virtual ~GpuEvents() = default;

  /// One of `processes` can be opened by another process; streams of both can record it and wait for it.
  virtual Result<GpuEvent> make(GpuEventUse use) = 0;
  virtual Result<GpuEventHandle> share(GpuEvent event) = 0;
  virtual Result<GpuEvent> open(const GpuEventHandle& handle) = 0;
  virtual Status destroy(GpuEvent event) = 0;
  /// The event stands for all that is queued on the stream so far.
  virtual Status record(GpuEvent event, GpuStream stream) = 0;
  /// The stream goes no further before what the event stood for at this call is done; one that was never
  /// recorded holds nobody up.
  virtual Status wait(GpuEvent event, GpuStream stream) = 0;
};

}  // namespace weir::device
