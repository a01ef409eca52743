// SPDX-License-Identifier: Apache-2.0
/// One block of memory from which arrays for gathered parameters are allocated and to which they are
/// returned.
#pragma once

#include <cstddef>
#include <map>

#include "src/base/status.h"
#include "trainer/shard/calls.h"

namespace weir::shard {

/// First fit; adjacent gaps are merged. Memory that was never used is not backed by physical pages. Used by
/// one thread at a time.
class Arena {
 public:
  static constexpr size_t kAlignment = 4096;
  static size_t rounded(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

  /// The arena's size is `bytes`, rounded up.
  static Result<Arena> make(size_t bytes, GpuOps* gpu = nullptr);

  /// Null if no gap is long enough. An empty arena has one gap of its whole size.
  char* take(size_t bytes);
  /// REQUIRES: `start` came from take() and was not returned yet.
  void give(char* start);
  size_t capacity() const { return memory_.bytes(); }

 private:
  explicit Arena(Memory memory);

  Memory memory_;
  std::map<size_t, size_t> gaps_;   ///< offset to length; no two gaps are adjacent
  std::map<size_t, size_t> taken_;  ///< offset to length
};

}  // namespace weir::shard
