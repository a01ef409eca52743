// SPDX-License-Identifier: Apache-2.0
/// Owned host memory that a GPU can access (pinned); ordinary memory without a GPU.
///
/// Not thread-safe.
/// Tests: tests/core/staging_test.cc
#pragma once

#include <cstddef>
#include <utility>

#include "src/base/status.h"
#include "src/device/gpu.h"

namespace weir::core {

class Pinned {
 public:
  Pinned() = default;
  /// Allocates zeroed memory. `gpu` may be null; otherwise it outlives the memory. The driver may wait for
  /// the GPU, so no stream may be waiting for the calling thread. Errors: those of device::Gpu.
  static Result<Pinned> allocate(device::Gpu* gpu, size_t bytes);
  /// Frees the memory; the driver may wait for the GPU, as in allocate().
  ~Pinned();
  Pinned(Pinned&& other) noexcept
      : gpu_(other.gpu_), data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  Pinned& operator=(Pinned&& other) noexcept {
    std::swap(gpu_, other.gpu_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  Pinned(device::Gpu* gpu, std::byte* data, size_t bytes) : gpu_(gpu), data_(data), bytes_(bytes) {}

  device::Gpu* gpu_ = nullptr;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace weir::core
