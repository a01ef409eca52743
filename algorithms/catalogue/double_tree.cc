// SPDX-License-Identifier: Apache-2.0

#include "algorithms/catalogue/double_tree.h"

#include "algorithms/ir/builder.h"

namespace weir::algorithms {
namespace {

using ir::Builder;
using ir::MoveId;
using ir::Operand;
using ir::Shape;

constexpr int kTrees = 2;
constexpr uint8_t up_lane(int tree) { return static_cast<uint8_t>(2 * tree); }
constexpr uint8_t down_lane(int tree) { return static_cast<uint8_t>(2 * tree + 1); }

/// In-order binary tree: odd nodes are leaves, node 0 is the top and has one child.
int in_order_parent(int node, int nodes) {
  if (node == 0) return -1;
  const int bit = node & -node;
  const int parent = (node ^ bit) | (bit << 1);
  return parent < nodes ? parent : node ^ bit;
}

/// Calls visit(tree number, chunk) for the chunks of both trees alternately.
template <typename Visit>
void each_chunk(const Shape& shape, Visit&& visit) {
  const uint32_t half = shape.chunks / kTrees;
  for (uint32_t i = 0; i < half; ++i) {
    for (int tree = 0; tree < kTrees; ++tree) visit(tree, static_cast<uint32_t>(tree) * half + i);
  }
}

}  // namespace

NodeTree double_tree(int nodes, int which) {
  // In the second tree, leaves of the first are inner nodes: it is mirrored, or shifted if mirroring does not
  // achieve that.
  const auto moved = [&](int node) {
    if (which == 0) return node;
    return nodes % 2 == 0 ? nodes - 1 - node : (node + 1) % nodes;
  };
  NodeTree tree;
  tree.top = moved(0);
  tree.parent.assign(static_cast<size_t>(nodes), -1);
  tree.children.resize(static_cast<size_t>(nodes));
  for (int node = 1; node < nodes; ++node) {
    tree.parent[static_cast<size_t>(moved(node))] = moved(in_order_parent(node, nodes));
  }
  for (int node = 0; node < nodes; ++node) {
    const int parent = tree.parent[static_cast<size_t>(node)];
    if (parent >= 0) tree.children[static_cast<size_t>(parent)].push_back(node);
  }
  return tree;
}

ir::Plan double_tree_all_reduce(const Shape& shape) {
  Builder plan("double_tree", shape);
  const RotatedTree rotated[kTrees] = {{double_tree(shape.ranks, 0), 0, shape.ranks},
                                       {double_tree(shape.ranks, 1), 0, shape.ranks}};
  each_chunk(shape, [&](int tree, uint32_t c) {
    plan.lane(up_lane(tree));
    const Operand sum = climb(plan, rotated[tree], rotated[tree].tree.top, c, ir::output(c));
    plan.lanes(up_lane(tree), down_lane(tree));
    descend(plan, rotated[tree], rotated[tree].tree.top, c, sum, down_lane(tree));
  });
  return plan.take();
}

ir::Plan double_tree_reduce(const Shape& shape) {
  Builder plan("double_tree", shape);
  const Rank first = wrap(shape.root + 1, shape.ranks);
  const RotatedTree rotated[kTrees] = {{double_tree(shape.ranks - 1, 0), first, shape.ranks},
                                       {double_tree(shape.ranks - 1, 1), first, shape.ranks}};
  each_chunk(shape, [&](int tree, uint32_t c) {
    plan.lane(up_lane(tree));
    const int top = rotated[tree].tree.top;
    const Operand sum = climb(plan, rotated[tree], top, c, {});
    plan.send(rotated[tree].rank(top), shape.root, sum, {.with = ir::input(c), .to = ir::output(c)});
  });
  return plan.take();
}

ir::Plan double_tree_broadcast(const Shape& shape) {
  Builder plan("double_tree", shape);
  const Rank first = wrap(shape.root + 1, shape.ranks);
  const RotatedTree rotated[kTrees] = {{double_tree(shape.ranks - 1, 0), first, shape.ranks},
                                       {double_tree(shape.ranks - 1, 1), first, shape.ranks}};
  each_chunk(shape, [&](int tree, uint32_t c) {
    plan.lane(down_lane(tree));
    const int top = rotated[tree].tree.top;
    const MoveId handed = plan.send(shape.root, rotated[tree].rank(top), ir::input(c), {.to = ir::output(c)});
    plan.local(shape.root, ir::input(c), {.to = ir::output(c)});
    descend(plan, rotated[tree], top, c, ir::value(handed), down_lane(tree));
  });
  return plan.take();
}

}  // namespace weir::algorithms
