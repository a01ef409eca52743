// SPDX-License-Identifier: Apache-2.0
/// Limits the number and the bytes of a communicator's operations that are queued or in flight.
///
/// Works as the rate limiter of FSDP for its gathers (limit_all_gathers): a caller that would exceed a limit
/// waits in its call. By default the window slides: the caller waits only for the oldest operations. With
/// `flushes`, for comparison, it waits for all of them, as that limiter's first version did. A single
/// operation is always admitted, however large.
///
/// Thread-safe. Cannot deadlock if all ranks issue their operations in the same order, which communicators
/// require anyway: a call waits only for operations issued before.
/// Tests: tests/core/admission_test.cc
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>

#include "src/core/call/operation.h"

namespace weir::core {

class Admission {
 public:
  struct Limits {
    uint64_t bytes = 0;       ///< limit on the bytes of the larger buffers; 0: none
    uint64_t operations = 0;  ///< limit on the number of operations; 0: none
    bool flushes = false;
  };
  struct Counters {
    uint64_t waits = 0;  ///< number of calls that had to wait
    uint64_t most_bytes = 0;
    uint64_t most_operations = 0;
  };
  /// The operations that one call or group queues.
  struct Load {
    uint64_t bytes = 0;
    uint64_t operations = 0;
  };

  explicit Admission(const Limits& limits) : limits_(limits) {}

  bool limits_any() const { return limits_.bytes != 0 || limits_.operations != 0; }
  /// Waits until the load may be queued, or until abort().
  void enter(const Load& load);
  /// Call it when the load has finished or failed.
  void leave(const Load& load);
  /// Admits all callers from now on.
  void abort();
  Counters counters() const;

 private:
  bool fits(const Load& load) const;

  const Limits limits_;
  mutable std::mutex mutex_;
  std::condition_variable left_;
  Load outstanding_;
  Counters counters_;
  bool aborted_ = false;
};

/// The load of operations of a communicator with `ranks` ranks.
Admission::Load load_of(std::span<const Operation> operations, int ranks);

}  // namespace weir::core
