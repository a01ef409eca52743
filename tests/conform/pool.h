// SPDX-License-Identifier: Apache-2.0
/// Memory for the buffers of tests, from one allocation.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <mutex>

namespace weir::conform {

/// Drivers may let an allocation wait until a GPU has run all kernels, and a kernel may wait for a rank that
/// shares its GPU. So tests allocate once per GPU, as caching allocators of frameworks do. Thread-safe.
class Pool {
 public:
  /// Does not take ownership of the memory.
  Pool(void* memory, size_t bytes) : memory_(static_cast<std::byte*>(memory)) { free_[0] = bytes; }

  /// Aligned to 512 bytes, as the runtimes do; null, and a failure, where not so much is left.
  void* take(size_t bytes) {
    bytes = (bytes + kGrain - 1) / kGrain * kGrain;
    const std::lock_guard lock(mutex_);
    for (auto place = free_.begin(); place != free_.end(); ++place) {
      const auto [at, room] = *place;
      if (room < bytes) continue;
      free_.erase(place);
      if (room > bytes) free_[at + bytes] = room - bytes;
      taken_[at] = bytes;
      return memory_ + at;
    }
    ADD_FAILURE() << "the pool has no " << bytes << " bytes left";
    return nullptr;
  }

  void give(void* memory) {
    const std::lock_guard lock(mutex_);
    const auto taken = taken_.find(static_cast<size_t>(static_cast<std::byte*>(memory) - memory_));
    if (taken == taken_.end()) return;
    auto place = free_.insert(*taken).first;
    taken_.erase(taken);
    if (const auto next = std::next(place);
        next != free_.end() && place->first + place->second == next->first) {
      place->second += next->second;
      free_.erase(next);
    }
    if (place == free_.begin()) return;
    if (const auto before = std::prev(place); before->first + before->second == place->first) {
      before->second += place->second;
      free_.erase(place);
    }
  }

 private:
  static constexpr size_t kGrain = 512;
  std::byte* const memory_;
  std::mutex mutex_;
  std::map<size_t, size_t> free_, taken_;  ///< bytes by place
};

}  // namespace weir::conform
