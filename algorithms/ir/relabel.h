// SPDX-License-Identifier: Apache-2.0
/// Converts a schedule to another order of ranks, or to other numbers of lanes.
/// Tests: tests/algorithms/planned_test.cc, tests/algorithms/layout_test.cc
#pragma once

#include <span>

#include "algorithms/ir/plan.h"
#include "src/base/status.h"

namespace weir::ir {

/// Rank order[i] of the result does what rank i does in `plan`, with its own block if buffers have one per
/// rank; the root is order[plan.shape.root]. To be verified like any plan. Errors: invalid_argument if a move
/// takes chunks of several ranks' blocks that are not contiguous in the new order. REQUIRES: `order` contains
/// every rank once.
Result<Plan> relabelled(Plan plan, std::span<const Rank> order);

/// The same moves, with the lanes of each rank numbered in the order of their first use: equal for plans that
/// differ only in the numbers of lanes.
Plan with_lanes_in_order_of_use(Plan plan);

}  // namespace weir::ir
