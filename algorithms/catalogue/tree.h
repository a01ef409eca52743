// SPDX-License-Identifier: Apache-2.0
/// What algorithms over trees of ranks share: sums that climb, results that descend.
///
/// Pure.
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
struct Planted {
  NodeTree tree;
  Rank first;
  int ranks;

  Rank rank(int node) const { return wrap(first + node, ranks); }
};

/// Sums chunk `c` of the subtree under `node` at `node`, in the lanes that the builder has: each node adds
/// what its children send to its own input, lower child first. The value, which is also kept at `keep`; or
/// the node's own input if it is a leaf.
ir::Operand climb(ir::Builder& plan, const Planted& planted, int node, uint32_t c, ir::Operand keep);

/// Hands `carried`, held by `node`, down its subtree; everybody below keeps chunk `c`. The first messages use
/// the lanes that the builder has, those below leave from and arrive in `lane`, which the builder has
/// afterwards.
void descend(ir::Builder& plan, const Planted& planted, int node, uint32_t c, ir::Operand carried,
             uint8_t lane);

}  // namespace weir::algorithms
