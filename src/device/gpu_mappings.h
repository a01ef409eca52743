// SPDX-License-Identifier: Apache-2.0
/// Memory of a GPU that other processes map by a descriptor of a file which they were handed: where IPC
/// handles do not go, as between containers that share no namespace of processes.
///
/// Thread-safe. Errors: as src/device/gpu.h.
#pragma once

#include "src/device/gpu.h"
#include "src/net/socket.h"

namespace weir::device {

/// Device memory and who can map it. `bytes` is what the driver made of those that were asked for.
struct GpuMapping {
  void* memory = nullptr;
  size_t bytes = 0;
};

class GpuMappings {
 public:
  virtual ~GpuMappings() = default;

  /// New memory on this GPU, for this GPU. `file`, an open descriptor, stands for it and keeps it alive.
  virtual Result<GpuMapping> make(size_t bytes, Socket& file) = 0;
  /// The memory behind a descriptor of another process, or of another GPU of this one; `bytes` as make() gave
  /// them. The descriptor is not needed afterwards.
  virtual Result<GpuMapping> map(const Socket& file, size_t bytes) = 0;
  /// The addresses go; the memory when nobody maps it. REQUIRES: nothing that is queued uses it.
  virtual Status free(const GpuMapping& mapping) = 0;
};

}  // namespace weir::device
