// SPDX-License-Identifier: Apache-2.0
/// Packs spanning trees into a graph between ranks.
///
/// Berczi and Frank ("Packing arborescences", 2010): equal trees grow together, edge by edge, and one flow
/// tells how many of them may take an edge so that the rest of the graph still bears all other trees. When
/// fewer than all may, they part. Trees may grow in any order: here they grow by one level in turns, so that
/// none is left with what would make it high; only where there are many do some have to wait.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/packing/logical_graph.h"
#include "algorithms/packing/trees.h"
#include "weir/status.h"

namespace weir::algorithms {

/// Trees of all `shares` (by rank: how many are rooted there), with routes, by root. Low trees are preferred,
/// then few different ones. Takes what the trees use out of the graph. REQUIRES: no edge at a switch, and the
/// condition of supply.h. Errors: internal_error where it does not hold.
Result<std::vector<Tree>> pack_trees(LogicalGraph& graph, const std::vector<int64_t>& shares);

}  // namespace weir::algorithms
