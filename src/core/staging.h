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

#include "src/core/pinned.h"

namespace weir::core {

class Staging {
 public:
  /// One is filled while one is used and one is emptied.
  static constexpr size_t kSlots = 3;
  struct Slots {
    std::array<std::byte*, kSlots> memory{};
    size_t bytes = 0;  ///< of each
  };

  /// `gpu` may be null, else it outlives the slots.
  explicit Staging(device::Gpu* gpu) : gpu_(gpu) {}

  /// Slots have room for `bytes` from now on. Errors: as device::Gpu.
  Status reserve(size_t bytes);
  Slots slots() const;
  /// Of all slots, those that were too small included.
  size_t bytes() const;

 private:
  device::Gpu* const gpu_;
  mutable std::mutex mutex_;
  std::vector<Pinned> blocks_;  ///< each is kSlots slots; the last one is used
};

}  // namespace weir::core
