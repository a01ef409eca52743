// SPDX-License-Identifier: Apache-2.0
/// Measuring on all ranks of a job at once, in turns. All functions are collective and give the same on all
/// ranks: of each turn the slowest rank counts.
/// Tests: tests/trainer/turns_test.cc
#pragma once

#include <nccl.h>

#include <functional>
#include <vector>

#include "src/base/status.h"

namespace weir::trainer {

/// Seconds in which threads that share a core take many turns on it, so that each gets its part.
inline constexpr double kManyTimeSlices = 20e-3;

/// Whether one more turn of a measurement is worth its time: single turns may have been interrupted. The same
/// on all ranks if `seconds`, which all turns took until now, is.
bool takes_another_turn(int turns, double seconds);

/// The largest value over all ranks; also a barrier.
Result<double> largest(ncclComm_t comm, double value);

double median(std::vector<double> values);

/// Seconds that `work` takes, the median of turns in which all ranks do it at once, often enough to fill many
/// time slices. Ranks that do not take part only wait; at least one takes part. Before, it is done once, to
/// fill caches.
Result<double> usual_seconds(ncclComm_t comm, const std::function<void()>& work, bool takes_part = true);

}  // namespace weir::trainer
