// SPDX-License-Identifier: Apache-2.0
/// Converts a network into one between ranks only, without losing any flow that a packing needs.
///
/// Edge splitting in directed graphs (Mader 1978; Frank, Bang-Jensen and Jackson, "Preserving and increasing
/// local edge-connectivity in mixed graphs", 1995; used for collectives by ForestColl, arXiv 2402.06787): at
/// a balanced switch, an edge into it and an edge out of it can be joined to one that bypasses it. The
/// maximum that can be joined is the lesser of both capacities, minus the largest shortfall of a rank
/// afterwards.
/// Tests: tests/algorithms/packing_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/packing/logical_graph.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// Afterwards no switch has an edge, and every rank still gets all `shares` (see supply.h). First balances
/// every switch, which costs nothing if both directions of all links are equal. If there is a choice, traffic
/// is spread evenly over the pairs that a switch joins. Errors: invalid_argument if the shares do not fit
/// into the graph, or a switch cannot be balanced.
Status remove_switches(LogicalGraph& graph, const std::vector<int64_t>& shares);

}  // namespace weir::algorithms
