// SPDX-License-Identifier: Apache-2.0
/// The slots of pinned memory through which operations on GPU memory are staged.
///
/// Slots grow in powers of two and are freed only at the end: freeing pinned memory may wait for the GPU, and
/// the GPU may wait for a thread that uses the memory.
///
/// One thread at a time may call reserve(); any thread may call slots().
/// Tests: tests/core/staging_test.cc
#pragma once

#include <array>
#include <mutex>
#include <vector>

#include "src/core/staged/pinned.h"

namespace weir::core {

class Staging {
 public:
  /// One slot is used while the other is emptied and filled.
  static constexpr size_t kSlots = 2;
  struct Slots {
    std::array<std::byte*, kSlots> memory{};
    size_t bytes = 0;  ///< size of each slot
  };

  /// `gpu` may be null; otherwise it outlives the slots. `slots`: their number, at most kSlots.
  explicit Staging(device::Gpu* gpu, size_t slots = kSlots) : gpu_(gpu), slots_(slots) {}

  /// Makes each slot hold at least `bytes` from now on. Errors: those of device::Gpu.
  Status reserve(size_t bytes);
  Slots slots() const;
  /// Bytes of all slots ever allocated, including those that became too small.
  size_t bytes() const;

 private:
  device::Gpu* const gpu_;
  const size_t slots_;
  mutable std::mutex mutex_;
  std::vector<Pinned> blocks_;  ///< each block has all slots; the last one is in use
};

}  // namespace weir::core
