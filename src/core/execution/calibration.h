// SPDX-License-Identifier: Apache-2.0
/// Measures what channels of a communicator cost, with messages between neighbours.
///
/// All ranks of a host send to the next in a ring, all hosts at the same time; then the first ranks of (some)
/// hosts do. A token goes round before every measurement: its way is the latency, and it tells what comes
/// next, so that all go on or stop together. Sends and receives are those of users (Pairs), with their waits
/// and their watchdog: a rank that dies is named, nothing hangs.
#pragma once

#include <array>
#include <cstddef>
#include <limits>

#include "algorithms/cost/profile.h"
#include "src/core/execution/execution.h"
#include "weir/status.h"

namespace weir::core {

/// The least time that some bytes took.
struct Transfer {
  size_t bytes = 0;
  double seconds = std::numeric_limits<double>::infinity();
};

/// Whether the times of a transfer and of a larger one can be of one network, where none at all took `none`
/// seconds: what the larger one took more is at least half of its share of what all its bytes took. On a busy
/// machine each time is too long by something else, and the smaller transfer may seem to have taken longer.
bool fit(const std::array<Transfer, 2>& least, double none);

/// What a byte more costs. Where the times do not fit, what a byte of the larger transfer took: too much
/// where it was held up, too little by at most what buckets on the way let pass at once.
double seconds_per_byte(const std::array<Transfer, 2>& least, double none);

/// What this rank found out: figures of rings that it is the first rank of, zeros for all others. Collective.
/// Takes some milliseconds. Errors: those of operations.
Result<cost::Rates> calibrate(Execution& execution, Rank self, const cost::Environment& by_rank);

}  // namespace weir::core
