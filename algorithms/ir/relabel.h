// SPDX-License-Identifier: Apache-2.0
/// Converts a schedule to another order of ranks.
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

}  // namespace weir::ir
