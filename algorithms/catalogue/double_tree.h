// SPDX-License-Identifier: Apache-2.0
/// Double binary tree: two trees over the same ranks, each carrying half of the data.
///
/// A rank that is inner in one tree is a leaf of the other (as far as numbers allow), so every rank sends and
/// receives about as much as in a ring, but the depth is only log2(ranks). Sums go up, results come down.
/// all_reduce uses both trees over all ranks; reduce and broadcast set the root apart and join it to the tops
/// of two trees over the others.
///
/// Tree t goes up in lane 2t and down in lane 2t + 1, so the next pass climbs while the last one comes down;
/// its top turns around inside the lane that goes up. Chunks move one by one: more chunks pipeline more
/// finely.
///
/// Pure. REQUIRES: shape.kind is the collective of the name, ranks >= 2, an even number of chunks. A node
/// adds what its children send to its own input, lower child first, and passes the sum on.
#pragma once

#include "algorithms/catalogue/tree.h"
#include "algorithms/ir/plan.h"

namespace weir::algorithms {

ir::Plan double_tree_all_reduce(const ir::Shape& shape);
ir::Plan double_tree_reduce(const ir::Shape& shape);
ir::Plan double_tree_broadcast(const ir::Shape& shape);

/// The two trees (which: 0 or 1); nodes have at most two children. REQUIRES: nodes >= 1.
NodeTree double_tree(int nodes, int which);

}  // namespace weir::algorithms
