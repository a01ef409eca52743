// SPDX-License-Identifier: Apache-2.0
/// Two shots through memory that all ranks can read: each rank publishes its input, adds up its own share
/// directly from all ranks' memory, and copies the finished shares of the others. For ranks that share
/// memory, and messages that are not small.
///
/// Sums are in rank order, ((x0 + x1) + x2) + ..., as in one_shot: same bits.
///
/// Everything is in lane 0. Scratch: as large as the input (all_reduce, reduce_scatter) or one block
/// (all_gather). The chunks of a share move together.
///
/// Pure. REQUIRES: shape.kind is the collective of the name, ranks >= 2, for all_reduce a number of chunks
/// that is a multiple of `ranks`.
/// Tests: tests/algorithms/catalogue_test.cc
#pragma once

#include "algorithms/ir/plan.h"

namespace weir::algorithms {

ir::Plan two_shot_all_reduce(const ir::Shape& shape);
ir::Plan two_shot_reduce_scatter(const ir::Shape& shape);
ir::Plan two_shot_all_gather(const ir::Shape& shape);

}  // namespace weir::algorithms
