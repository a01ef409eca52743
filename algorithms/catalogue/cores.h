// SPDX-License-Identifier: Apache-2.0
/// The largest power of two in a number of ranks, for exchanges over doubling distances.
/// Tests: tests/algorithms/catalogue_test.cc
#pragma once

#include <bit>

#include "src/base/types.h"

namespace weir::algorithms {

/// Core v < spare represents ranks 2v and 2v + 1, and is the former; the others represent one rank each.
struct Cores {
  explicit Cores(int ranks)
      : count(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))), spare(ranks - count) {}

  Rank rank(int core) const { return core < spare ? 2 * core : core + spare; }
  /// Calls visit(low, high) for all pairs of cores `distance` apart, a power of two.
  template <typename Visit>
  void pairs(int distance, Visit&& visit) const {
    for (int low = 0; low < count; ++low) {
      if ((low & distance) == 0) visit(low, low | distance);
    }
  }

  int count;
  int spare;
};

}  // namespace weir::algorithms
