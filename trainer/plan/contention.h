// SPDX-License-Identifier: Apache-2.0
/// What computing and transfers lose of their speed while both run, because they share multiprocessors, cores
/// or memory.
///
/// Thread safety: pure functions.
/// Tests: tests/trainer/plan_contention_test.cc
#pragma once

namespace weir::trainer::plan {

/// Fractions of the speed that each has alone, and what threads wait for a core.
struct Contention {
  double computing = 0;  ///< lost by computing while a transfer runs; less than 1
  double transfers = 0;  ///< lost by a transfer while something is computed; less than 1
  /// Seconds by which a transfer begins later that is queued while something is computed: the thread that
  /// carries it has to wake up and get a core.
  double wake = 0;
};

/// Seconds of computing and of transfers: alone how long each takes, together when each ends.
struct ComputingAndTransfers {
  double computing = 0;
  double transfers = 0;
};

/// From what both took alone, and when they ended after they had begun at once: the one that ended later ran
/// alone from the end of the other. Noise can make things faster together than alone; the fractions are
/// limited to 0 .. 0.95, and `wake` is 0. REQUIRES: positive seconds.
Contention contention_of(const ComputingAndTransfers& alone, const ComputingAndTransfers& together);

/// Seconds from when both begin at once until both have ended.
double seconds_together(const Contention& contention, const ComputingAndTransfers& alone);

}  // namespace weir::trainer::plan
