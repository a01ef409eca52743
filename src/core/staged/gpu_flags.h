// SPDX-License-Identifier: Apache-2.0
/// Flags for streams and the host, from pages of pinned memory: one page lasts for hundreds of streams.
///
/// Not thread-safe; the flags are.
#pragma once

#include <vector>

#include "src/core/staged/pinned.h"

namespace weir::core {

class GpuFlags {
 public:
  /// `gpu` outlives the flags.
  explicit GpuFlags(device::Gpu& gpu) : gpu_(gpu) {}

  /// A flag of its own, 0 at first, for as long as this object lives. Errors: as device::Gpu.
  Result<device::GpuFlag> take();
  size_t bytes() const { return pages_.size() * kPageBytes; }

 private:
  static constexpr size_t kPageBytes = 4096;

  device::Gpu& gpu_;
  std::vector<Pinned> pages_;
  size_t next_ = kPageBytes;  ///< in the last page
};

}  // namespace weir::core
