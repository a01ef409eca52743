// SPDX-License-Identifier: Apache-2.0
/// Yields of a waiting thread that notice foreign load.
///
/// If everybody else on the core only waits as well, sched_yield() returns within microseconds. If another
/// thread computes there, it keeps the core for a whole time slice, some milliseconds, whereas a sleeper that
/// is woken gets the core at once. So a yield that takes longer than a millisecond makes its thread sleep
/// instead for some time; then one yield finds out whether the load is still there (docs/waiting.md).
///
/// Each thread knows only its own yields: no locks, no shared state.
/// Tests: tests/base/contention_test.cc
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstdint>

#include "src/base/clock.h"

namespace weir {

class Contention {
 public:
  /// A longer yield was a time slice of somebody who computes. Plus kOwnNs for each rank of one's own that
  /// shares the core, for these work a little between two waits.
  static constexpr int64_t kSliceNs = 1'000'000;
  static constexpr int64_t kOwnNs = 100'000;
  /// The time without yields after the first slow one; doubles with each further one.
  static constexpr int64_t kLeastPauseNs = 5'000'000;
  static constexpr int64_t kMostPauseNs = 320'000'000;
  static constexpr int64_t kMemoryNs = 1'000'000'000;

  /// Whether threads that wait should sleep instead of yielding; `now` is now_ns().
  bool found(int64_t now) const { return now < until_ns_; }

  /// Whether it was found twice in a row within the last second or so: no passing disturbance.
  bool lasts(int64_t now) const { return now < lasting_ns_; }

  /// Notes a yield from `before` to `after`, while `crowd` ranks shared the core.
  void note_yield(int64_t before, int64_t after, uint32_t crowd) {
    if (after - before < kSliceNs + kOwnNs * crowd) {
      pause_ns_ = kLeastPauseNs;
      return;
    }
    until_ns_ = after + pause_ns_;
    if (pause_ns_ > kLeastPauseNs) lasting_ns_ = until_ns_ + kMemoryNs;
    pause_ns_ = std::min(2 * pause_ns_, kMostPauseNs);
  }

 private:
  int64_t until_ns_ = 0;
  int64_t lasting_ns_ = 0;
  int64_t pause_ns_ = kLeastPauseNs;
};

/// What this thread knows of its core.
inline constinit thread_local Contention contention;

/// Yields the core, and returns the time after it. `now` is the time before.
inline int64_t yield_core(int64_t now, uint32_t crowd = 1) {
  sched_yield();
  const int64_t after = now_ns();
  contention.note_yield(now, after, crowd);
  return after;
}

/// Yields the core if it returns soon: false without a yield where the caller should sleep.
inline bool try_yield_core() {
  const int64_t now = now_ns();
  if (contention.found(now)) return false;
  yield_core(now);
  return true;
}

}  // namespace weir
