// SPDX-License-Identifier: Apache-2.0
/// How nccl-tests counts the size and the bandwidth of a call.
/// Tests: tests/cli/metrics_test.cc, tests/cli/top_test.cc
#pragma once

#include "src/base/types.h"

namespace weir::cli {

/// Factor from the bytes of a call's count, on one rank, to the size of the call.
constexpr double size_factor(Collective kind, int ranks) {
  switch (kind) {
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
    case Collective::gather:
    case Collective::scatter: return ranks;
    default: return 1;
  }
}

/// Factor from algorithm bandwidth (size / time) to bus bandwidth. REQUIRES: ranks > 0.
constexpr double bus_factor(Collective kind, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (kind) {
    case Collective::all_reduce: return 2 * others;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
    case Collective::gather:
    case Collective::scatter: return others;
    default: return 1;
  }
}

}  // namespace weir::cli
