// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/contention.h"

#include <algorithm>

namespace weir::trainer::plan {
namespace {

constexpr double kMostLost = 0.95;

/// The fraction of speed lost until `both`, of what takes `alone` and ended at `end`, at full speed since.
double lost(double alone, double end, double both) {
  const double left = std::max(end - both, 0.0);
  return std::clamp(1 - (alone - left) / both, 0.0, kMostLost);
}

}  // namespace

Contention contention_of(const ComputingAndTransfers& alone, const ComputingAndTransfers& together) {
  const double both = std::min(together.computing, together.transfers);
  return {lost(alone.computing, together.computing, both), lost(alone.transfers, together.transfers, both)};
}

double seconds_together(const Contention& contention, const ComputingAndTransfers& alone) {
  const double computing_speed = 1 - contention.computing;
  const double transfer_speed = 1 - contention.transfers;
  const double both = std::min(alone.computing / computing_speed, alone.transfers / transfer_speed);
  return both + (alone.computing - both * computing_speed) + (alone.transfers - both * transfer_speed);
}

}  // namespace weir::trainer::plan
