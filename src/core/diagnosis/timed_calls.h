// SPDX-License-Identifier: Apache-2.0
/// Chooses which calls are timed, where a look at the clock may take longer than they do: each one if they
/// are far apart in time; every second, fourth, ..., 512th where they follow each other quickly. Ranks choose
/// for themselves, but the numbers are multiples of powers of two, so that all have timed the same ones.
///
/// has() and timed() are called by one thread; everything else may be called from any thread at any time.
/// Tests: tests/core/recorder_test.cc
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace weir::core {

class TimedCalls {
 public:
  /// The least time between two timed calls, unless they are kMostApart calls apart.
  static constexpr int64_t kApartNs = 64'000;
  static constexpr uint64_t kMostApart = 512;

  bool has(uint64_t number) const { return (number & mask_) == 0; }
  /// Notes that a call that it has was timed. After a long time calls may have become slow, so each of the
  /// next ones is timed until they are seen to be quick.
  void timed(int64_t ns) {
    const int64_t last = last_ns();
    if (ns - last > 8 * kApartNs)
      mask_ = 0;
    else if (ns - last < kApartNs)
      mask_ = std::min(2 * mask_ + 1, kMostApart - 1);
    before_ns_.store(last, std::memory_order_relaxed);
    last_ns_.store(ns, std::memory_order_relaxed);
  }
  void forget() {
    mask_ = 0;
    before_ns_.store(0, std::memory_order_relaxed);
    last_ns_.store(0, std::memory_order_relaxed);
  }

  /// When the last timed call began, and the one before it; 0: there was none.
  int64_t last_ns() const { return last_ns_.load(std::memory_order_relaxed); }
  int64_t before_ns() const { return before_ns_.load(std::memory_order_relaxed); }

 private:
  uint64_t mask_ = 0;  ///< numbers of timed calls have none of these bits
  std::atomic<int64_t> last_ns_{0}, before_ns_{0};
};

}  // namespace weir::core
