// SPDX-License-Identifier: Apache-2.0
/// Plans from tree packings: data goes down the trees, sums come up them.
///
/// Each rank's block (of an all-reduce: its region of the one block) is divided among the trees that it is
/// the root of, in their multiplicities; so the plan has as many chunks as there are trees, less what all
/// multiplicities have in common. Trees take turns in the lanes. An all-reduce sums in other lanes than it
/// spreads in.
///
/// Packings that sum (reduce_scatter, reduce, the first one of all_reduce) are those of the reversed network:
/// see reversed() in trees.h. Data that goes up such a tree uses its route's edges backwards there, which is
/// forwards here. Sums are taken in the order of the tree's edges, children before parents.
///
/// Pure. REQUIRES: packings that check_packing() accepts. Errors: invalid_argument where the packing does not
/// suit the collective.
#pragma once

#include "algorithms/ir/plan.h"
#include "algorithms/packing/trees.h"
#include "weir/status.h"

namespace weir::algorithms {

/// Every rank is the root of as many trees.
Result<ir::Plan> tree_all_gather(const Packing& packing);
Result<ir::Plan> tree_reduce_scatter(const Packing& reversed_packing);

/// One rank is the root of all trees.
Result<ir::Plan> tree_broadcast(const Packing& packing);
Result<ir::Plan> tree_reduce(const Packing& reversed_packing);

/// Roots share the data in proportion to their trees, which both packings must have in equal numbers.
Result<ir::Plan> tree_all_reduce(const Packing& reversed_packing, const Packing& packing);

}  // namespace weir::algorithms
