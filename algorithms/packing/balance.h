// SPDX-License-Identifier: Apache-2.0
/// Lets every switch of a graph take in as much as it gives out.
#pragma once

#include "algorithms/packing/logical_graph.h"
#include "algorithms/packing/supply.h"
#include "weir/status.h"

namespace weir::algorithms {

/// Takes capacity that no rank needs away from both `graph` and `supply`. Errors: invalid_argument where a
/// switch stays unbalanced.
Status balance_switches(LogicalGraph& graph, Supply& supply);

}  // namespace weir::algorithms
