// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/iteration_times.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weir::perf {

IterationStats iteration_stats(std::span<const double> microseconds) {
  std::vector<double> sorted(microseconds.begin(), microseconds.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t n = sorted.size();
  auto percentile = [&](size_t percent) { return sorted[std::max<size_t>((n * percent + 99) / 100, 1) - 1]; };
  double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(n);
  double squares = 0;
  for (double time : sorted) squares += (time - mean) * (time - mean);
  return {.min = sorted.front(),
          .max = sorted.back(),
          .mean = mean,
          .p50 = sorted[n / 2],
          .p95 = percentile(95),
          .p99 = percentile(99),
          .deviation = std::sqrt(squares / static_cast<double>(n))};
}

}  // namespace weir::perf
