// SPDX-License-Identifier: Apache-2.0
/// K-ary tree: every rank has at most `arity` children, so there are only log_arity(ranks) hops, for more
/// messages at each inner rank. For small data and many ranks, where a hop takes long but is little work.
///
/// The ranks below a node follow each other and are divided among its children as evenly as can be, so ranks
/// that are near each other in the order stay together and the depth is the least there is. Sums go up in
/// lane 0, results come down in lane 1, so the next pass climbs while the last one comes down; the root turns
/// around inside lane 0. Chunks move one by one: more chunks pipeline more finely. A node adds what its
/// children send to its own input, lower child first, and passes the sum on.
///
/// Pure. REQUIRES: shape.kind is the collective of the name, ranks >= 2, arity >= 1. Any number of chunks.
#pragma once

#include "algorithms/catalogue/tree.h"
#include "algorithms/ir/plan.h"

namespace weir::algorithms {

/// The plans are called "tree" and the arity: "tree4".
ir::Plan kary_tree_all_reduce(const ir::Shape& shape, int arity);
ir::Plan kary_tree_reduce(const ir::Shape& shape, int arity);
ir::Plan kary_tree_broadcast(const ir::Shape& shape, int arity);

/// The tree; its top is node 0. REQUIRES: nodes >= 1, arity >= 1.
NodeTree kary_tree(int nodes, int arity);

}  // namespace weir::algorithms
