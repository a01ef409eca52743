// SPDX-License-Identifier: Apache-2.0
/// Double binary tree: two trees over the same ranks, each carrying half of the data.
///
/// A rank that is inner in one tree is a leaf of the other (as far as numbers allow), so that every rank
/// sends and receives about as much as in a ring, but the depth is only log2(ranks). Sums go up, results come
/// down. all_reduce uses both trees over all ranks; reduce and broadcast connect the root to the tops of two
/// trees over the other ranks.
///
/// Tree t goes up in lane 2t and down in lane 2t + 1, so that the upward part of one pass overlaps the
/// downward part of the previous one; its top turns around inside the upward lane. Chunks move one by one:
/// more chunks mean a finer pipeline.
///
/// Pure. REQUIRES: shape.kind is the collective of the name, ranks >= 2, an even number of chunks. A node
/// adds its children's data to its own input, lower child first, and passes the sum on.
/// Tests: tests/algorithms/schedule_test.cc
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
