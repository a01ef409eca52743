// SPDX-License-Identifier: Apache-2.0
/// Exchanges over distances that halve or double: log2(ranks) rounds, for sizes between the smallest and the
/// largest.
///
/// all_reduce halves the data in every round until each rank has the sum of one share, then doubles it back;
/// the largest exchanges are between neighbours. Ranks beyond the largest power of two are folded into a
/// neighbour before and told the result after. all_gather and reduce_scatter take any number of ranks as it
/// is: blocks travel in growing, or sums in shrinking, runs, the last run cut to what is missing.
///
/// A rank sends in lane 0 and receives in lane 1, so that both directions of an exchange are under way at
/// once.
///
/// Pure. REQUIRES: shape.kind is the collective of the name, ranks >= 2, and for all_reduce a multiple of
/// bit_floor(ranks) as chunks. Sums are taken along the rounds: own part + partner's part.
#pragma once

#include "algorithms/ir/plan.h"

namespace weir::algorithms {

ir::Plan halving_doubling_all_reduce(const ir::Shape& shape);
ir::Plan halving_doubling_reduce_scatter(const ir::Shape& shape);
ir::Plan halving_doubling_all_gather(const ir::Shape& shape);

}  // namespace weir::algorithms
