// SPDX-License-Identifier: Apache-2.0
/// Short time slices for a thread that sleeps and is woken often on a core that others compute on.
///
/// Linux (6.12 and newer) lets a woken thread interrupt the running one before the end of its time slice if
/// the woken thread asks for shorter slices itself; its share of the core stays the same. Older kernels, and
/// sandboxes that refuse the call, change nothing.
/// Source: sched_setattr(2); the change of Linux 6.12 "sched/eevdf: Use sched_attr::sched_runtime to set
/// request/slice suggestion".
/// Tests: tests/base/time_slice_test.cc
#pragma once

#include <cstdint>

namespace weir {

/// The time slice of one thread, the only one that uses the object.
class ShortTimeSlice {
 public:
  /// Asks for the shortest slices; nothing if it has done so already, or if the thread has a policy of its
  /// own (real time, idle, deadline).
  void ask();
  bool asked() const { return asked_; }
  /// Returns to the slices of before.
  void give_back();

 private:
  uint64_t former_ns_ = 0;  ///< slice to return to; 0: not changed
  bool asked_ = false;
};

}  // namespace weir
