// SPDX-License-Identifier: Apache-2.0
/// GPU memory that NICs read and write directly (GPUDirect RDMA).
///
/// Thread-safe. Errors: as src/device/gpu.h.
/// Tests: tests/device/gpu_direct_test.cc
#pragma once

#include "src/device/gpu.h"
#include "src/net/socket.h"

namespace weir::device {

class GpuDirect {
 public:
  virtual ~GpuDirect() = default;

  /// The descriptor of a dmabuf for this memory (whole pages of kind `device`), which NICs can register.
  virtual Result<Socket> file_of(void* memory, size_t bytes) = 0;
  /// Success if running kernels can be made to see NIC writes. NIC reads need no such check.
  virtual Status may_be_written() = 0;
  /// Makes all earlier NIC writes visible to kernels. REQUIRES: may_be_written().
  virtual Status settle() = 0;
};

}  // namespace weir::device
