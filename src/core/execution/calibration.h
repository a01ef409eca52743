// SPDX-License-Identifier: Apache-2.0
/// Measures latency and bandwidth of a communicator's channels, with messages between neighbours.
///
/// The ranks of each host form a ring and send to the next rank, all hosts at the same time; then the first
/// ranks of (some) hosts do the same. A token travels around the ring before every measurement: its time
/// gives the latency, and its content tells the next step, so that all ranks continue or stop together.
/// Messages go through Pairs as those of users do, with its waits and watchdog: a rank that dies is named,
/// nothing hangs.
/// Tests: tests/core/calibration_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <limits>

#include "algorithms/cost/profile.h"
#include "src/base/status.h"
#include "src/core/execution/execution.h"

namespace weir::core {

/// The shortest time measured for a number of bytes.
struct TimedTransfer {
  size_t bytes = 0;
  double seconds = std::numeric_limits<double>::infinity();
};

/// Whether the times of two transfers, the larger one second, are consistent; an empty transfer took `none`
/// seconds. Consistent: the extra time of the larger one is at least half of what its extra bytes should
/// take. On a busy machine each time has a different delay, and the smaller transfer may even seem slower.
bool fit(const std::array<TimedTransfer, 2>& least, double none);

/// Time of an additional byte. If the times do not fit(), the average time of a byte of the larger transfer:
/// too long if it was delayed, or too short by at most the burst of token buckets on the path.
double seconds_per_byte(const std::array<TimedTransfer, 2>& least, double none);

/// The rates that this rank measured: those of the rings whose first rank it is, zeros for all others.
/// Collective. Takes some milliseconds. Errors: those of operations.
Result<cost::Rates> calibrate(Execution& execution, Rank self, const cost::Environment& by_rank);

}  // namespace weir::core
