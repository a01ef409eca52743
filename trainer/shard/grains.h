// SPDX-License-Identifier: Apache-2.0
/// Who works on which grains of a global batch. Pure.
///
/// A grain is the smallest part of a global batch, a sequence; canonical sums are made of them
/// (weir/grains.h).
#pragma once

#include <cstdint>

namespace weir::shard {

/// Grains [first, end).
struct GrainRange {
  uint64_t first = 0;
  uint64_t end = 0;
  uint64_t count() const { return end - first; }
};

/// Which rank works on which grains in which micro-batch. A rank has a contiguous range, in
/// micro-batches of at most `per_micro` grains; ranks with less of them have empty ones at the end.
class GrainPlan {
 public:
  /// `per_micro` 0: all at once.
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
