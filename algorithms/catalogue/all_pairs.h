// SPDX-License-Identifier: Apache-2.0
/// All pairs: the data is divided among the ranks; each rank receives its part from all others at once, adds
/// it up in rank order, and sends the sum to all (all_reduce) or to the root (reduce). Two hops, as many
/// bytes per rank as a ring, and a message per pair of ranks: for medium and large messages between ranks
/// that all reach each other well, where sums must be in rank order.
///
/// Inputs leave from lane 1 and arrive in lane 0, sums leave from lane 0 and arrive in lane 2. The chunks of
/// a part move together. For reduce_scatter, one_shot is the same.
///
/// Pure. REQUIRES: shape.kind is the collective of the name, ranks >= 2, a number of chunks that is a
/// multiple of `ranks`.
/// Tests: tests/algorithms/catalogue_test.cc
#pragma once

#include "algorithms/ir/plan.h"

namespace weir::algorithms {

ir::Plan all_pairs_all_reduce(const ir::Shape& shape);
ir::Plan all_pairs_reduce(const ir::Shape& shape);

}  // namespace weir::algorithms
