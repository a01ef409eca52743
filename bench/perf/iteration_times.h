// SPDX-License-Identifier: Apache-2.0
/// Statistics of the times of single iterations, for -I.
#pragma once

#include <span>
#include <vector>

namespace weir::perf {

/// All values in microseconds.
struct IterationStats {
  double min, max, mean, p50, p95, p99, deviation;
  /// Standard deviation in per cent of the mean; 0 if the mean is 0.
  double variation() const { return mean > 0 ? deviation / mean * 100 : 0; }
};

/// Percentiles by nearest rank; the median is the upper one. REQUIRES: `microseconds` is not empty.
IterationStats iteration_stats(std::span<const double> microseconds);

/// Times of all timed iterations in microseconds, without the skipped leading ones.
struct IterationTimes {
  int skipped = 0;
  std::vector<double> slowest;                  ///< maximum over all ranks
  std::vector<std::vector<double>> by_process;  ///< maximum over the threads of each process
};

}  // namespace weir::perf
