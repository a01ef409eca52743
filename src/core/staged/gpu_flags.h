// SPDX-License-Identifier: Apache-2.0
/// Flags for synchronization of streams and the host, in pages of pinned memory: one page serves hundreds of
/// streams.
///
/// Not thread-safe; the flags are.
/// Tests: tests/core/staging_test.cc
#pragma once

#include <vector>

#include "src/core/staged/pinned.h"

namespace weir::core {

class GpuFlags {
 public:
  /// `gpu` outlives the flags.
  explicit GpuFlags(device::Gpu& gpu) : gpu_(gpu) {}

  /// A new flag, initially 0, valid as long as this object. Errors: those of device::Gpu.
  Result<device::GpuFlag> take();
  size_t bytes() const { return pages_.size() * kPageBytes; }

 private:
  static constexpr size_t kPageBytes = 4096;

  device::Gpu& gpu_;
  std::vector<Pinned> pages_;
  size_t next_ = kPageBytes;  ///< offset of the next free flag in the last page
};

}  // namespace weir::core
