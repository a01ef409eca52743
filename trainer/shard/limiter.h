// SPDX-License-Identifier: Apache-2.0
/// Limits the gathers in flight, by number and by bytes: FSDP's rate limiter (limit_all_gathers). Pure.
///
/// A gather is in flight from the moment it is queued until its parameters are released, so the limit bounds
/// memory. FSDP's CPU runs ahead of its device and has to wait; here the caller itself computes, so a gather
/// that is not admitted is simply requested again after the next release.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::shard {

enum class Limit {
  off,      ///< everything is admitted
  block,    ///< block and flush: a full block must be released completely before the next one begins
  sliding,  ///< sliding window: each release admits the next gather at once
};

struct LimiterOptions {
  Limit kind = Limit::sliding;
  int gathers = 2;   ///< maximum number in flight; 0: any number
  size_t bytes = 0;  ///< maximum number of bytes in flight; 0: any number
};

struct LimiterCounts {
  uint64_t gathers = 0;   ///< number of gathers admitted
  uint64_t held = 0;      ///< number of gathers not admitted at the first request
  uint64_t flushes = 0;   ///< number of full blocks; Limit::block only
  int most_gathers = 0;   ///< maximum number of gathers in flight
  size_t most_bytes = 0;  ///< maximum number of bytes in flight
};

/// Used by one thread at a time.
class Limiter {
 public:
  explicit Limiter(const LimiterOptions& options) : options_(options) {}

  /// Whether gather `number` of `bytes` may be queued; it then counts as in flight. The number distinguishes
  /// a new gather from one that is requested again. `room`: whether contiguous memory is available for it. If
  /// no gather is in flight, one within the limit is always admitted.
  bool admit(uint64_t number, size_t bytes, bool room = true);
  /// A gather of `bytes` is no longer in flight.
  void release(size_t bytes);

  const LimiterCounts& counts() const { return counts_; }

 private:
  bool fits(int gathers, size_t bytes) const;

  LimiterOptions options_;
  LimiterCounts counts_;
  int gathers_ = 0;  ///< number of gathers in flight
  size_t bytes_ = 0;
  int block_gathers_ = 0;  ///< number of gathers in the current block, released or not
  size_t block_bytes_ = 0;
  bool block_full_ = false;
  uint64_t last_held_ = UINT64_MAX;
};

}  // namespace weir::shard
