// SPDX-License-Identifier: Apache-2.0
/// K-ary tree: every rank has at most `arity` children, so that there are only log_arity(ranks) hops, with
/// more messages at each inner rank. For small messages and many ranks, if a hop has a high latency but a low
/// overhead.
///
/// The ranks below a node are consecutive and divided as evenly as possible among its children, so that ranks
/// that are near each other in the order stay together and the depth is minimal. Sums go up in lane 0,
/// results come down in lane 1, so that the upward part of one pass overlaps the downward part of the
/// previous one; the root turns around inside lane 0. Chunks move one by one: more chunks mean a finer
/// pipeline. A node adds its children's data to its own input, lower child first, and passes the sum on.
///
/// Pure. REQUIRES: shape.kind is the collective of the name, ranks >= 2, arity >= 1. Any number of chunks.
/// Tests: tests/algorithms/schedule_test.cc
#pragma once

#include "algorithms/catalogue/tree.h"
#include "algorithms/ir/plan.h"

namespace weir::algorithms {

/// The plans have names like "tree4": "tree" and the arity.
ir::Plan kary_tree_all_reduce(const ir::Shape& shape, int arity);
ir::Plan kary_tree_reduce(const ir::Shape& shape, int arity);
ir::Plan kary_tree_broadcast(const ir::Shape& shape, int arity);

/// The tree; its top is node 0. REQUIRES: nodes >= 1, arity >= 1.
NodeTree kary_tree(int nodes, int arity);

}  // namespace weir::algorithms
