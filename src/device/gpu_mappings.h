// SPDX-License-Identifier: Apache-2.0
/// GPU memory that other processes map by means of a file descriptor that they receive. It works where IPC
/// handles do not, such as between containers with separate pid namespaces.
///
/// Thread-safe. Errors: as src/device/gpu.h.
/// Tests: tests/device/gpu_sharing_test.cc
#pragma once

#include "src/device/gpu.h"
#include "src/net/socket.h"

namespace weir::device {

/// Mapped memory of kind GpuMemory::coherent. `bytes` is the requested size, rounded up by the driver.
struct GpuMapping {
  void* memory = nullptr;
  size_t bytes = 0;
};

class GpuMappings {
 public:
  virtual ~GpuMappings() = default;

  /// Allocates memory on this GPU and maps it for this GPU. `file` becomes an open descriptor that refers to
  /// the memory and keeps it alive.
  virtual Result<GpuMapping> make(size_t bytes, Socket& file) = 0;
  /// Maps the memory of a descriptor from another process, or from another GPU of this process; `bytes` is
  /// the size that make() returned. The descriptor is not needed afterwards.
  virtual Result<GpuMapping> map(const Socket& file, size_t bytes) = 0;
  /// Unmaps the memory; it is freed when no process maps it. REQUIRES: no queued operation uses it.
  virtual Status free(const GpuMapping& mapping) = 0;
};

}  // namespace weir::device
