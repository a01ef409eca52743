// SPDX-License-Identifier: Apache-2.0
/// One shot: all data goes directly to its destination, in one message per pair of ranks. The fewest hops,
/// the most messages: for small messages.
///
/// all_reduce sends every rank's whole input to every rank. All sums are in rank order, ((x0 + x1) + x2) +
/// ..., so that every rank computes the same bits, and the same as two_shot.
///
/// If every rank both sends and receives, it sends in lane 1 and receives in lane 0, and begins with the next
/// rank. The chunks of a block move together.
///
/// Pure. REQUIRES: shape.kind is the collective of the name, ranks >= 2. Any number of chunks.
/// Tests: tests/algorithms/catalogue_test.cc
#pragma once

#include "algorithms/ir/plan.h"

namespace weir::algorithms {

ir::Plan one_shot_all_reduce(const ir::Shape& shape);
ir::Plan one_shot_reduce(const ir::Shape& shape);
ir::Plan one_shot_broadcast(const ir::Shape& shape);
ir::Plan one_shot_all_gather(const ir::Shape& shape);
ir::Plan one_shot_reduce_scatter(const ir::Shape& shape);
ir::Plan one_shot_all_to_all(const ir::Shape& shape);
ir::Plan one_shot_gather(const ir::Shape& shape);
ir::Plan one_shot_scatter(const ir::Shape& shape);

}  // namespace weir::algorithms
