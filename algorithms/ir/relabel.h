// SPDX-License-Identifier: Apache-2.0
/// The same schedule for ranks in another order.
#pragma once

#include <span>

#include "algorithms/ir/plan.h"
#include "weir/status.h"

namespace weir::ir {

/// What rank i does in `plan` rank order[i] does in the result, with the block of that rank where buffers
/// have one per rank; its root is order[plan.shape.root]. Verify it as any plan. Errors: invalid_argument
/// where a move takes chunks of several ranks' blocks that do not follow each other in the new order.
/// REQUIRES: `order` holds every rank once.
Result<Plan> relabelled(Plan plan, std::span<const Rank> order);

}  // namespace weir::ir
