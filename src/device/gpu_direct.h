// SPDX-License-Identifier: Apache-2.0
/// Memory of a GPU that network adapters read and write (GPUDirect RDMA).
///
/// Thread-safe. Errors: as src/device/gpu.h.
#pragma once

#include "src/device/gpu.h"
#include "src/net/socket.h"

namespace weir::device {

class GpuDirect {
 public:
  virtual ~GpuDirect() = default;

  /// The descriptor of a dmabuf that is this memory, whole pages of kind device: what adapters register.
  virtual Result<Socket> file_of(void* memory, size_t bytes) = 0;
  /// Whether kernels that run can be made to see what adapters write; reading needs nothing.
  virtual Status may_be_written() = 0;
  /// Kernels see from now on what adapters have written until now. REQUIRES: may_be_written().
  virtual Status settle() = 0;
};

}  // namespace weir::device
