// SPDX-License-Identifier: Apache-2.0
/// How many gathers may be under way: FSDP's rate limiter (limit_all_gathers), in gathers and in bytes. Pure.
///
/// A gather is under way from the moment it is queued until its parameters are released again, so the limit
/// is one on memory. FSDP's CPU runs ahead of its device and has to wait; here the caller computes itself, so
/// a gather that is not admitted is simply asked for again after the next release.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::shard {

enum class Limit {
  off,      ///< everything is admitted
  block,    ///< block and flush: when a block is full, all of it must be released before the next one begins
  sliding,  ///< sliding window: each release makes room at once
};

struct LimiterOptions {
  Limit kind = Limit::sliding;
  int gathers = 2;   ///< at most so many; 0: any number
  size_t bytes = 0;  ///< at most so many; 0: any number
};

struct LimiterCounts {
  uint64_t gathers = 0;   ///< admitted
  uint64_t held = 0;      ///< not admitted when first asked for
  uint64_t flushes = 0;   ///< blocks that were full; of Limit::block
  int most_gathers = 0;   ///< under way at once
  size_t most_bytes = 0;  ///< under way at once
};

/// Used by one thread at a time.
class Limiter {
 public:
  explicit Limiter(const LimiterOptions& options) : options_(options) {}

  /// Whether gather `number` of `bytes` may be queued; then it counts as under way. Numbers tell a new gather
  /// from one that is asked for again. `room`: whether there is memory for it in one piece. When nothing is
  /// under way a gather within the limit is always admitted.
  bool admit(uint64_t number, size_t bytes, bool room = true);
  /// A gather of `bytes` is no longer under way.
  void release(size_t bytes);

  const LimiterCounts& counts() const { return counts_; }

 private:
  bool fits(int gathers, size_t bytes) const;

  LimiterOptions options_;
  LimiterCounts counts_;
  int gathers_ = 0;  ///< under way
  size_t bytes_ = 0;
  int block_gathers_ = 0;  ///< of the present block, whether released or not
  size_t block_bytes_ = 0;
  bool block_full_ = false;
  uint64_t last_held_ = UINT64_MAX;
};

}  // namespace weir::shard
