/// Measures what channels of a communicator cost, with messages between neighbours.
///
/// All ranks of a host send to the next in a ring, all hosts at the same time; then the first ranks of (some)
/// hosts do. A token goes round before every measurement: its way is the latency, and it tells what comes
/// next, so that all go on or stop together. Sends and receives are those of users (Pairs), with their waits
/// and their watchdog: a rank that dies is named, nothing hangs.
#pragma once

#include "algorithms/cost/profile.h"
#include "src/core/execution.h"
#include "weir/status.h"

namespace weir::core {

/// What this rank found out: figures of rings that it is the first rank of, zeros for all others. Collective.
/// Takes some milliseconds. Errors: those of operations.
Result<cost::Rates> calibrate(Execution& execution, Rank self, const cost::Surroundings& by_rank);

}  // namespace weir::core
