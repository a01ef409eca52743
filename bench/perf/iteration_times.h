// SPDX-License-Identifier: Apache-2.0
/// What -I reports about the times of single iterations.
#pragma once

#include <span>
#include <vector>

namespace weir::perf {

/// In microseconds.
struct IterationStats {
  double min, max, mean, p50, p95, p99, deviation;
  /// Deviation in per cent of the mean; 0 if that is 0.
  double variation() const { return mean > 0 ? deviation / mean * 100 : 0; }
};

/// Percentiles are the nearest rank; the median the upper one. REQUIRES: not empty.
IterationStats iteration_stats(std::span<const double> microseconds);

/// Of each timed iteration, in microseconds, the leading ones left out.
struct IterationTimes {
  int skipped = 0;
  std::vector<double> slowest;                  ///< over all ranks
  std::vector<std::vector<double>> by_process;  ///< over the threads of each process
};

}  // namespace weir::perf
