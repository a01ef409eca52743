// SPDX-License-Identifier: Apache-2.0
/// How late the threads of this process run. Where they do, those of other processes may do so too: who waits
/// for an answer waits longer then.
///
/// Not thread-safe.
/// Tests: tests/base/scheduling_delay_test.cc
#pragma once

#include <algorithm>
#include <cstdint>

namespace weir {

class SchedulingDelay {
 public:
  /// An answer takes up to five turns of threads of both sides, and the other host may be twice as late.
  static constexpr int64_t kFactor = 10;

  /// Notes that a thread of this process ran `late_ns` after it was to run. Only the longest one counts.
  void note(int64_t late_ns) { worst_ns_ = std::max(worst_ns_, late_ns); }
  int64_t worst_ns() const { return worst_ns_; }
  /// How much longer than a limit for others to wait.
  int64_t allowance_ns() const { return kFactor * worst_ns_; }

 private:
  int64_t worst_ns_ = 0;
};

}  // namespace weir
