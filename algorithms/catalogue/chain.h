// SPDX-License-Identifier: Apache-2.0
/// A chain: partial sums pass from rank 0 to the last rank, each rank adding its own input, so that they are
/// in rank order; the results pass back along the chain (all_reduce), or go to where they belong. For large
/// messages, which pass through in tiles: every rank sends about as many bytes as in a ring, and a group of
/// consecutive ranks, such as a host, is entered and left once.
///
/// Partial sums travel in lane 0, results arrive in lane 1. The chunks of a block move together.
///
/// Pure. REQUIRES: shape.kind is the collective of the name, ranks >= 2. Any number of chunks.
/// Tests: tests/algorithms/catalogue_test.cc
#pragma once

#include "algorithms/ir/plan.h"

namespace weir::algorithms {

ir::Plan chain_all_reduce(const ir::Shape& shape);
ir::Plan chain_reduce(const ir::Shape& shape);
ir::Plan chain_reduce_scatter(const ir::Shape& shape);

}  // namespace weir::algorithms
