// SPDX-License-Identifier: Apache-2.0
/// Counting around a ring of ranks.
/// Tests: tests/algorithms/catalogue_test.cc
#pragma once

#include "src/base/types.h"

namespace weir::algorithms {

/// `rank` modulo `ranks`, never negative. REQUIRES: rank >= -2 * ranks, because shares are counted backwards
/// for up to two rounds.
constexpr Rank wrap(Rank rank, int ranks) { return (rank + 2 * ranks) % ranks; }

}  // namespace weir::algorithms
