// SPDX-License-Identifier: Apache-2.0
/// The list schedule of one step: gathers, computing and reductions of units, in time.
///
/// Computing goes forward over all units and back, once per micro-batch. Links inside nodes and between nodes
/// are two resources, each with one transfer at a time; a gather that is allowed goes before reductions that
/// wait, and those go in order. What allows a gather: the prefetch depth and the rate limiter, which has the
/// semantics of PyTorch's FSDP (limit_all_gathers): a window of gathers that slides with each unit that is
/// freed, or blocks that are waited for.
///
/// Thread safety: pure functions.
#pragma once

#include <vector>

#include "trainer/plan/wire.h"

namespace weir::trainer::plan {

struct Limiter {
  enum class Kind {
    off,
    block,    ///< the next block of gathers waits until all units of the last one are freed
    sliding,  ///< a gather waits until fewer units than the window has are gathered
    stall,    ///< no limiter, in full memory: before each gather the allocator waits until the device is idle
  };
  Kind kind = Kind::off;
  int gathers = 0;   ///< of a block, or in flight; 0: any number
  double bytes = 0;  ///< in flight, sliding only; 0: any
};

/// Times in seconds at full speed.
struct UnitTimes {
  Transfer gather;
  Transfer reduce;
  double forward = 0;
  double backward = 0;         ///< with what is recomputed
  double parameter_bytes = 0;  ///< while gathered
  double gradient_bytes = 0;   ///< from backward to the end of the reduction
  bool kept = false;           ///< held from forward to the end of backward
};

constexpr int kEverything = 1 << 20;  ///< as prefetch depth

struct Rules {
  bool free_after_forward = true;  ///< FULL_SHARD and HYBRID_SHARD: gathered again for backward
  bool reduce_each = true;         ///< else only the last micro-batch is reduced
  int prefetch = 1;                ///< gathers for that many units after the current one may be under way
  Limiter limiter;
  int micro_batches = 1;
  double contention = 0;  ///< part of the speed of computing that is lost while a transfer runs
};

struct Timeline {
  double seconds = 0;
  double compute_seconds = 0;  ///< at full speed
  double inside_seconds = 0;   ///< links inside nodes were busy
  double between_seconds = 0;
  double peak_bytes = 0;  ///< most of gathered parameters and waiting gradients at once
  int most_gathered = 0;  ///< most units gathered at once, kept ones not counted

  double exposed_seconds() const { return seconds - compute_seconds; }
};

/// REQUIRES: at least one unit, micro_batches >= 1, contention < 1.
Timeline run(const std::vector<UnitTimes>& units, const Rules& rules);

}  // namespace weir::trainer::plan
