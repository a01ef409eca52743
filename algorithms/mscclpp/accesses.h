// SPDX-License-Identifier: Apache-2.0
/// Accesses to memory by threads that run at the same time, and whether they are ordered.
///
/// A thread block is a process; so is the thread of a host that copies for a port channel. Time passes for a
/// process when all of its threads have waited for each other. A Clock says for every process up to which
/// time its accesses are known to be complete (Lamport's and Mattern's vector time).
///
/// Values: one thread at a time. No call fails.
/// Tests: tests/algorithms/mscclpp_test.cc
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::mscclpp {

class Clock {
 public:
  uint32_t of(size_t process) const { return process < times_.size() ? times_[process] : 0; }
  void set(size_t process, uint32_t time) {
    if (process >= times_.size()) times_.resize(process + 1);
    times_[process] = std::max(times_[process], time);
  }
  void join(const Clock& other) {
    if (other.times_.size() > times_.size()) times_.resize(other.times_.size());
    for (size_t p = 0; p < other.times_.size(); ++p) times_[p] = std::max(times_[p], other.times_[p]);
  }

 private:
  std::vector<uint32_t> times_;  // index: process
};

/// A process at a time, in one of its operations.
struct MemoryAccess {
  size_t process = SIZE_MAX;  ///< SIZE_MAX: before the first one
  uint32_t time = 0;
  size_t operation = SIZE_MAX;

  bool before(const Clock& clock) const { return process == SIZE_MAX || time <= clock.of(process); }
};

/// The accesses to one chunk of memory.
class ChunkAccesses {
 public:
  /// Whether the access is ordered with those before it that it conflicts with. `clock` is what the process
  /// knows.
  bool access(bool writes, MemoryAccess now, const Clock& clock) {
    if (!ordered(written_, now, clock)) return false;
    if (!writes) {
      const auto own = std::find_if(reads_.begin(), reads_.end(),
                                    [&](const MemoryAccess& read) { return read.process == now.process; });
      if (own == reads_.end())
        reads_.push_back(now);
      else
        *own = now;
      return true;
    }
    for (const MemoryAccess& read : reads_)
      if (!ordered(read, now, clock)) return false;
    written_ = now;
    reads_.clear();
    return true;
  }

  /// Whether all accesses are complete for who knows `clock`.
  bool complete(const Clock& clock) const {
    return written_.before(clock) && std::all_of(reads_.begin(), reads_.end(), [&](const MemoryAccess& read) {
             return read.before(clock);
           });
  }

 private:
  /// An operation may read and write a chunk: each of its threads then does so with the same elements.
  static bool ordered(const MemoryAccess& earlier, const MemoryAccess& now, const Clock& clock) {
    return earlier.before(clock) || earlier.operation == now.operation;
  }

  MemoryAccess written_;
  std::vector<MemoryAccess> reads_;  // since it was written
};

}  // namespace weir::mscclpp
