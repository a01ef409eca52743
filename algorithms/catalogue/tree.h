// SPDX-License-Identifier: Apache-2.0
/// The common part of algorithms over trees of ranks: sums that go up, results that go down.
///
/// Pure.
/// Tests: tests/algorithms/schedule_test.cc, tests/algorithms/catalogue_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/catalogue/wrap.h"
#include "algorithms/ir/builder.h"

namespace weir::algorithms {

/// A tree over nodes 0 .. nodes - 1.
struct NodeTree {
  int top = 0;
  std::vector<int> parent;                 ///< -1 at the top
  std::vector<std::vector<int>> children;  ///< ascending
};

/// A tree whose node i is rank (first + i) % ranks.
struct RotatedTree {
  NodeTree tree;
  Rank first;
  int ranks;

  Rank rank(int node) const { return wrap(first + node, ranks); }
};

/// Adds up chunk `c` of the subtree of `node` at `node`, in the builder's current lanes: each node adds its
/// children's data to its own input, lower child first. Returns the value, which is also stored at `keep`; or
/// the node's own input if it is a leaf.
ir::Operand climb(ir::Builder& plan, const RotatedTree& rotated, int node, uint32_t c, ir::Operand keep);

/// Passes `carried`, held by `node`, down its subtree; all nodes below store chunk `c`. The first messages
/// use the builder's current lanes, later ones leave from and arrive in `lane`, which is the builder's lane
/// afterwards.
void descend(ir::Builder& plan, const RotatedTree& rotated, int node, uint32_t c, ir::Operand carried,
             uint8_t lane);

}  // namespace weir::algorithms
