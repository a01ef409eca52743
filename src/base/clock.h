// SPDX-License-Identifier: Apache-2.0
/// Monotonic time, and deadlines of waits.
/// Tests: tests/base/clock_test.cc
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace weir {

inline constexpr int64_t kNsPerMs = 1'000'000;

/// The time of a monotonic clock in nanoseconds. Comparable between processes of one host.
inline int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The condition that ends a wait: a time, an abort flag, or both. Copyable; the flag is not owned and may be
/// null.
class Deadline {
 public:
  static constexpr int64_t kNever = INT64_MAX;

  static Deadline at(int64_t ns, const std::atomic<bool>* abort = nullptr) { return Deadline(ns, abort); }
  static Deadline in_ms(int64_t ms, const std::atomic<bool>* abort = nullptr) {
    return Deadline(now_ns() + ms * kNsPerMs, abort);
  }
  static Deadline never(const std::atomic<bool>* abort = nullptr) { return Deadline(kNever, abort); }

  /// The earlier of this deadline and `ms` milliseconds from now, with the same abort flag.
  Deadline within_ms(int64_t ms) const { return Deadline(std::min(ns_, now_ns() + ms * kNsPerMs), abort_); }

  int64_t ns() const { return ns_; }
  const std::atomic<bool>* abort_flag() const { return abort_; }
  bool aborted() const { return abort_ != nullptr && abort_->load(std::memory_order_relaxed); }
  bool passed() const { return ns_ != kNever && now_ns() >= ns_; }
  bool over() const { return aborted() || passed(); }
  /// Milliseconds to sleep at once: the remaining time, rounded up, but at most `slice`, so that the abort
  /// flag is checked again.
  int slice_ms(int slice) const {
    if (ns_ == kNever) return slice;
    const int64_t left = (ns_ - now_ns() + kNsPerMs - 1) / kNsPerMs;
    return static_cast<int>(std::clamp<int64_t>(left, 0, slice));
  }

 private:
  Deadline(int64_t ns, const std::atomic<bool>* abort) : ns_(ns), abort_(abort) {}

  int64_t ns_;
  const std::atomic<bool>* abort_;
};

}  // namespace weir
