// SPDX-License-Identifier: Apache-2.0
/// The slots of pinned memory through which operations on memory of a GPU go.
///
/// They grow in powers of two and are never given back before the end: whoever frees pinned memory may wait
/// for the GPU, and the GPU may wait for whoever uses it.
///
/// reserve() is called by one thread at a time; slots() by any.
#pragma once

#include <array>
#include <mutex>
#include <vector>

#include "src/core/staged/pinned.h"

namespace weir::core {

class Staging {
 public:
  /// One is used while the other is emptied and filled.
  static constexpr size_t kSlots = 2;
  struct Slots {
    std::array<std::byte*, kSlots> memory{};
    size_t bytes = 0;  ///< of each
  };

  /// `gpu` may be null, else it outlives the slots, of which there are `slots`, at most kSlots.
  explicit Staging(device::Gpu* gpu, size_t slots = kSlots) : gpu_(gpu), slots_(slots) {}

  /// Slots have room for `bytes` from now on. Errors: as device::Gpu.
  Status reserve(size_t bytes);
  Slots slots() const;
  /// Of all slots, those that were too small included.
  size_t bytes() const;

 private:
  device::Gpu* const gpu_;
  const size_t slots_;
  mutable std::mutex mutex_;
  std::vector<Pinned> blocks_;  ///< each is all slots; the last one is used
};

}  // namespace weir::core
