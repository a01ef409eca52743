// SPDX-License-Identifier: Apache-2.0
/// Packs spanning trees into a graph between ranks.
///
/// Berczi and Frank ("Packing arborescences", 2010): identical trees grow together, edge by edge, and one
/// flow computes how many of them may take an edge such that the rest of the graph can still carry all other
/// trees. If not all may, they are split. Trees may grow in any order: here they grow by one level in turn,
/// so that none is left with only edges that would make it high; some have to wait only if there are many.
/// Tests: tests/algorithms/packing_test.cc, tests/algorithms/spanning_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/packing/logical_graph.h"
#include "algorithms/packing/trees.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// Trees for all `shares` (index: rank; number of trees rooted there), with routes, in the order of roots.
/// Low trees are preferred, then few different ones. Removes the capacity that the trees use from the graph.
/// REQUIRES: no edge at a switch, and the condition of supply.h. Errors: internal_error if it does not hold.
Result<std::vector<Tree>> pack_trees(LogicalGraph& graph, const std::vector<int64_t>& shares);

}  // namespace weir::algorithms
