// SPDX-License-Identifier: Apache-2.0
/// Pairwise all-to-all: in round i every rank sends to the rank i after it and receives from the rank i
/// before it, so that no rank is the target of two at once. For large blocks.
///
/// Sends are in lane 1, receives in lane 0 in the order of the rounds. The chunks of a block move together.
///
/// Pure. REQUIRES: shape.kind is all_to_all, ranks >= 2. Any number of chunks.
/// Tests: tests/algorithms/catalogue_test.cc
#pragma once

#include "algorithms/ir/plan.h"

namespace weir::algorithms {

ir::Plan pairwise_all_to_all(const ir::Shape& shape);

}  // namespace weir::algorithms
