// SPDX-License-Identifier: Apache-2.0
/// How much a caller may queue ahead: a limit on a communicator's operations that are queued or under way,
/// and on their bytes.
///
/// What the rate limiter of FSDP does for its gathers (limit_all_gathers): a caller that would exceed a limit
/// waits in its call. The window slides, so that it waits for the oldest operations only; or, to compare, it
/// is flushed: then it waits until nothing is left, as that limiter's first version did. One operation may
/// always go, however large.
///
/// Thread-safe. All ranks that issue their operations in the same order, which communicators ask for anyway,
/// go on: an operation that is waited for was issued before.
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
    uint64_t bytes = 0;       ///< of the larger buffer of each operation; 0: any
    uint64_t operations = 0;  ///< 0: any
    bool flushes = false;
  };
  struct Counters {
    uint64_t waits = 0;  ///< calls that had to wait
    uint64_t most_bytes = 0;
    uint64_t most_operations = 0;
  };
  /// What one call or group queues.
  struct Load {
    uint64_t bytes = 0;
    uint64_t operations = 0;
  };

  explicit Admission(const Limits& limits) : limits_(limits) {}

  bool limits_any() const { return limits_.bytes != 0 || limits_.operations != 0; }
  /// Waits until the load may be queued, or until abort().
  void enter(const Load& load);
  /// The load is done, or has failed.
  void leave(const Load& load);
  /// Lets everybody in from now on.
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

/// Of operations among so many ranks.
Admission::Load load_of(std::span<const Operation> operations, int ranks);

}  // namespace weir::core
