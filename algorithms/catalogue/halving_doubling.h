// SPDX-License-Identifier: Apache-2.0
/// Exchanges over halving or doubling distances: log2(ranks) rounds, for medium messages.
///
/// all_reduce halves the data in every round until each rank has the sum of one share, then doubles it back;
/// the largest exchanges are between neighbours. Ranks beyond the largest power of two first add their data
/// to a neighbour and get the result from it at the end. all_gather and reduce_scatter accept any number of
/// ranks: blocks move in growing runs, or sums in shrinking ones; the last run is cut to the missing part.
///
/// A rank sends in lane 0 and receives in lane 1, so that both directions of an exchange are in flight at
/// once.
///
/// Pure. REQUIRES: shape.kind is the collective of the name, ranks >= 2, and for all_reduce a number of
/// chunks that is a multiple of bit_floor(ranks). Sums follow the rounds: own part + peer's part.
/// Tests: tests/algorithms/catalogue_test.cc
#pragma once

#include "algorithms/ir/plan.h"

namespace weir::algorithms {

ir::Plan halving_doubling_all_reduce(const ir::Shape& shape);
ir::Plan halving_doubling_reduce_scatter(const ir::Shape& shape);
ir::Plan halving_doubling_all_gather(const ir::Shape& shape);

}  // namespace weir::algorithms
