// SPDX-License-Identifier: Apache-2.0
/// Binomial trees: log2(ranks) rounds from or to the root, for small messages and many ranks.
///
/// Relative to the root, rank v is the child of v without its lowest set bit, and its subtree is the ranks v
/// .. v + lowest bit - 1. broadcast serves the largest subtree first; reduce adds the smallest first, to the
/// rank's own input; gather and scatter move whole subtrees at once, through scratch of at most half the
/// ranks' blocks.
///
/// Everything is in lane 0. The chunks of broadcast and reduce move one by one; the chunks of a block move
/// together.
///
/// Pure. REQUIRES: shape.kind is the collective of the name, ranks >= 2. Any number of chunks.
/// Tests: tests/algorithms/catalogue_test.cc
#pragma once

#include "algorithms/ir/plan.h"

namespace weir::algorithms {

ir::Plan binomial_broadcast(const ir::Shape& shape);
ir::Plan binomial_reduce(const ir::Shape& shape);
ir::Plan binomial_gather(const ir::Shape& shape);
ir::Plan binomial_scatter(const ir::Shape& shape);

}  // namespace weir::algorithms
