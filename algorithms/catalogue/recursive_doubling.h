// SPDX-License-Identifier: Apache-2.0
/// Exchanges of whole messages over doubling distances: log2(ranks) rounds, for sizes at which hops cost more
/// than bytes and one hop would need too many messages.
///
/// In every round a rank and its peer exchange their partial sums, and both add them. Ranks beyond the
/// largest power of two first add their data to a neighbour and get the result from it at the end. All ranks
/// have the same bits: both peers add the higher one's sum to the lower one's.
///
/// A rank sends in lane 0 and receives in lane 1, so that both directions of an exchange are in flight at
/// once.
///
/// Pure. REQUIRES: shape.kind is the collective of the name, ranks >= 2. Source: Thakur, Rabenseifner and
/// Gropp, "Optimization of Collective Communication Operations in MPICH", 2005.
/// Tests: tests/algorithms/catalogue_test.cc
#pragma once

#include "algorithms/ir/plan.h"

namespace weir::algorithms {

ir::Plan recursive_doubling_all_reduce(const ir::Shape& shape);

}  // namespace weir::algorithms
