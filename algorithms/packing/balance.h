// SPDX-License-Identifier: Apache-2.0
/// Balances the capacities into and out of every switch of a graph.
/// Tests: tests/algorithms/packing_test.cc
#pragma once

#include "algorithms/packing/logical_graph.h"
#include "algorithms/packing/supply.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// Removes capacity that no rank needs from both `graph` and `supply`. Errors: invalid_argument if a switch
/// stays unbalanced.
Status balance_switches(LogicalGraph& graph, Supply& supply);

}  // namespace weir::algorithms
