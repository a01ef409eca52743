// SPDX-License-Identifier: Apache-2.0
/// The moves of planned trees in the default order.
#pragma once

#include "algorithms/packing/plans.h"
#include "algorithms/planner/tree_planner.h"

namespace weir::algorithms {

inline Result<ir::Plan> moves_of(const TreePlan& trees) {
  return plan_with(trees.collective,
                   {trees.up ? &trees.up->packing : nullptr, trees.down ? &trees.down->packing : nullptr});
}

}  // namespace weir::algorithms
