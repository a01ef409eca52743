// SPDX-License-Identifier: Apache-2.0
/// Plans from tree packings: data goes down the trees, sums go up.
///
/// Each rank's block (in an all-reduce: its region of the one block) is divided among the trees of which it
/// is the root, in proportion to their multiplicities; the plan therefore has as many chunks as there are
/// trees, divided by the common divisor of all multiplicities. Trees use the lanes in turn. An all-reduce
/// sums in other lanes than it spreads.
///
/// Packings that sum (reduce_scatter, reduce, the first one of all_reduce) are those of the reversed network:
/// see reversed() in trees.h. Data that goes up such a tree uses its route's edges backwards there, which is
/// forwards in the network itself. Sums follow the order of the tree's edges, children before parents.
///
/// Pure. REQUIRES: packings that check_packing() accepts. Errors: invalid_argument if the packing does not
/// suit the collective.
/// Tests: tests/algorithms/packing_plan_test.cc
#pragma once

#include "algorithms/ir/plan.h"
#include "algorithms/packing/trees.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// Every rank is the root of the same number of trees.
Result<ir::Plan> tree_all_gather(const Packing& packing);
Result<ir::Plan> tree_reduce_scatter(const Packing& reversed_packing);

/// One rank is the root of all trees.
Result<ir::Plan> tree_broadcast(const Packing& packing);
Result<ir::Plan> tree_reduce(const Packing& reversed_packing);

/// Roots share the data in proportion to their trees; both packings must have equal numbers of trees per
/// root.
Result<ir::Plan> tree_all_reduce(const Packing& reversed_packing, const Packing& packing);

}  // namespace weir::algorithms
