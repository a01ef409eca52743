// SPDX-License-Identifier: Apache-2.0
/// One piece of memory from which gathered parameters are taken and to which they are given back.
#pragma once

#include <cstddef>
#include <map>

#include "trainer/shard/calls.h"
#include "weir/status.h"

namespace weir::shard {

/// First fit, with neighbours merged. What was never used takes no memory of the machine. Used by one thread
/// at a time.
class Arena {
 public:
  static constexpr size_t kAlignment = 4096;
  static size_t rounded(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

  /// Room for `bytes`, rounded up.
  static Result<Arena> make(size_t bytes, GpuOps* gpu = nullptr);

  /// Null where no gap is long enough. An empty arena has one gap, as long as all of it.
  char* take(size_t bytes);
  /// REQUIRES: `start` came from take() and was not given back.
  void give(char* start);
  size_t capacity() const { return memory_.bytes(); }

 private:
  explicit Arena(Memory memory);

  Memory memory_;
  std::map<size_t, size_t> gaps_;   ///< offset to length; no two touch
  std::map<size_t, size_t> taken_;  ///< offset to length
};

}  // namespace weir::shard
