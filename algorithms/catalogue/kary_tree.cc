// SPDX-License-Identifier: Apache-2.0

#include "algorithms/catalogue/kary_tree.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::algorithms {
namespace {

using ir::Builder;
using ir::Operand;
using ir::Shape;

constexpr uint8_t kUpLane = 0;
constexpr uint8_t kDownLane = 1;

Builder begin(const Shape& shape, int arity) { return {fmt::format("tree{}", arity), shape}; }

RotatedTree rotate(const Shape& shape, int arity) {
  return {kary_tree(shape.ranks, arity), has_root(shape.kind) ? shape.root : 0, shape.ranks};
}

/// Divides the `nodes` - 1 nodes after `first` among its children, and each part recursively.
void divide(NodeTree& tree, int first, int nodes, int arity) {
  const int below = nodes - 1;
  const int parts = std::min(arity, below);
  for (int part = 0, child = first + 1; part < parts; ++part) {
    const int size = below / parts + (part < below % parts ? 1 : 0);
    tree.parent[static_cast<size_t>(child)] = first;
    tree.children[static_cast<size_t>(first)].push_back(child);
    divide(tree, child, size, arity);
    child += size;
  }
}

}  // namespace

NodeTree kary_tree(int nodes, int arity) {
  NodeTree tree;
  tree.parent.assign(static_cast<size_t>(nodes), -1);
  tree.children.resize(static_cast<size_t>(nodes));
  divide(tree, 0, nodes, arity);
  return tree;
}

ir::Plan kary_tree_all_reduce(const Shape& shape, int arity) {
  Builder plan = begin(shape, arity);
  const RotatedTree rotated = rotate(shape, arity);
  for (uint32_t c = 0; c < shape.chunks; ++c) {
    plan.lane(kUpLane);
    const Operand sum = climb(plan, rotated, rotated.tree.top, c, ir::output(c));
    plan.lanes(kUpLane, kDownLane);
    descend(plan, rotated, rotated.tree.top, c, sum, kDownLane);
  }
  return plan.take();
}

ir::Plan kary_tree_reduce(const Shape& shape, int arity) {
  Builder plan = begin(shape, arity);
  const RotatedTree rotated = rotate(shape, arity);
  plan.lane(kUpLane);
  for (uint32_t c = 0; c < shape.chunks; ++c) climb(plan, rotated, rotated.tree.top, c, ir::output(c));
  return plan.take();
}

ir::Plan kary_tree_broadcast(const Shape& shape, int arity) {
  Builder plan = begin(shape, arity);
  const RotatedTree rotated = rotate(shape, arity);
  plan.lane(kDownLane);
  for (uint32_t c = 0; c < shape.chunks; ++c) {
    descend(plan, rotated, rotated.tree.top, c, ir::input(c), kDownLane);
    plan.local(shape.root, ir::input(c), {.to = ir::output(c)});
  }
  return plan.take();
}

}  // namespace weir::algorithms
