// SPDX-License-Identifier: Apache-2.0
/// The list schedule of one step: gathers, computing and reductions of units over time.
///
/// Computing goes forward over all units and back, once per micro-batch. Links inside nodes and between nodes
/// are two resources, each with one transfer at a time; an admitted gather goes before waiting reductions,
/// and these go in order. Gathers are admitted by the prefetch depth and by the rate limiter, which has the
/// semantics of PyTorch's FSDP (limit_all_gathers): a sliding window of gathers that advances with each
/// released unit, or blocks of gathers that must be released as a whole.
///
/// Thread safety: pure functions.
#pragma once

#include <optional>
#include <vector>

#include "trainer/plan/contention.h"
#include "trainer/plan/wire.h"

namespace weir::trainer::plan {

struct Limiter {
  enum class Kind {
    off,
    block,    ///< the next block of gathers waits until all units of the previous one are released
    sliding,  ///< a gather waits until fewer units are gathered than the window holds
    stall,    ///< no limiter, memory full: before each gather the allocator waits until the device is idle
  };
  Kind kind = Kind::off;
  int gathers = 0;   ///< gathers per block, or in flight; 0: any number
  double bytes = 0;  ///< bytes in flight, sliding only; 0: any number
};

/// Times in seconds at full speed.
struct UnitTimes {
  Transfer gather;
  std::optional<Transfer> gather_again;  ///< each gather of a step but the first; empty: as the first
  Transfer reduce;
  double forward = 0;
  double backward = 0;         ///< seconds of backward, including recomputation
  double parameter_bytes = 0;  ///< bytes of the unit's parameters while gathered
  double gradient_bytes = 0;   ///< bytes of its gradients from backward to the end of the reduction
  bool kept = false;           ///< whether it is held from forward to the end of backward
};

constexpr int kEverything = 1 << 20;  ///< a prefetch depth that covers all units

struct Rules {
  bool free_after_forward = true;  ///< FULL_SHARD and HYBRID_SHARD: gathered again for backward
  bool reduce_each = true;         ///< otherwise only the last micro-batch is reduced
  int prefetch = 1;                ///< number of units after the current one whose gathers may be in flight
  Limiter limiter;
  int micro_batches = 1;
  int reductions =
      0;  ///< units whose gradients are whole at once, if each micro-batch is reduced; 0: any number
  Contention contention;
};

struct Timeline {
  double seconds = 0;
  double compute_seconds = 0;  ///< computing at full speed, and the optimizer
  double inside_seconds = 0;   ///< time for which links inside nodes were busy
  double between_seconds = 0;
  double peak_bytes = 0;  ///< maximum of gathered parameters and waiting gradients together
  int most_gathered = 0;  ///< maximum number of units gathered at once, without kept ones

  double exposed_seconds() const { return seconds - compute_seconds; }
};

/// REQUIRES: at least one unit, micro_batches >= 1.
Timeline run(const std::vector<UnitTimes>& units, const Rules& rules);

}  // namespace weir::trainer::plan
