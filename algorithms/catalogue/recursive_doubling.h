// SPDX-License-Identifier: Apache-2.0
/// Exchanges of everything over distances that double: log2(ranks) rounds of whole messages, for sizes where
/// hops cost more than bytes and one hop would cost too many.
///
/// In every round a rank and its partner swap their sums so far, and both add them. Ranks beyond the largest
/// power of two are folded into a neighbour before and told the result after. All ranks have the same bits:
/// both partners add the higher one's sum to the lower one's.
///
/// A rank sends in lane 0 and receives in lane 1, so that both directions of an exchange are under way at
/// once.
///
/// Pure. REQUIRES: shape.kind is the collective of the name, ranks >= 2. Source: Thakur, Rabenseifner and
/// Gropp, "Optimization of Collective Communication Operations in MPICH", 2005.
#pragma once

#include "algorithms/ir/plan.h"

namespace weir::algorithms {

ir::Plan recursive_doubling_all_reduce(const ir::Shape& shape);

}  // namespace weir::algorithms
