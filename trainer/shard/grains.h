// SPDX-License-Identifier: Apache-2.0
/// Which rank processes which grains of a global batch. Pure.
///
/// A grain is the smallest part of a global batch, a sequence; canonical sums add up grains (weir/grains.h).
#pragma once

#include <cstdint>

namespace weir::shard {

/// Grains [first, end).
struct GrainRange {
  uint64_t first = 0;
  uint64_t end = 0;
  uint64_t count() const { return end - first; }
};

/// The assignment of grains to ranks and micro-batches. A rank has a contiguous range, in micro-batches of at
/// most `per_micro` grains; ranks with fewer grains have empty micro-batches at the end.
class GrainPlan {
 public:
  /// `per_micro` 0: one micro-batch.
  GrainPlan(uint64_t grains, int ranks, uint64_t per_micro = 0);

  uint64_t grains() const { return grains_; }
  int ranks() const { return ranks_; }
  int micro_batches() const { return micro_batches_; }
  GrainRange of(int rank) const;
  GrainRange of(int rank, int micro_batch) const;

 private:
  uint64_t grains_;
  int ranks_;
  uint64_t per_micro_;
  int micro_batches_;
};

}  // namespace weir::shard
