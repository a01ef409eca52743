// SPDX-License-Identifier: Apache-2.0

#include "algorithms/catalogue/binomial.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "algorithms/catalogue/wrap.h"
#include "algorithms/ir/builder.h"

namespace weir::algorithms {
namespace {

using ir::Builder;
using ir::Operand;
using ir::Shape;

/// The tree over "nodes": ranks relative to the root.
class BinomialTree {
 public:
  explicit BinomialTree(const Shape& shape) : root_(shape.root), ranks_(shape.ranks) {}

  Rank rank(int node) const { return wrap(root_ + node, ranks_); }
  int parent(int node) const { return node & (node - 1); }
  /// Number of nodes in the subtree of `node`, including it: node .. node + size - 1.
  int size(int node) const { return std::min(node & -node, ranks_ - node); }
  /// The largest bit in which a node differs from its parent.
  int reach() const { return static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks_))) / 2; }
  /// Size of the largest subtree except the root's.
  int largest() const {
    int most = 0;
    for (int bit = reach(); bit > 0; bit /= 2) most = std::max(most, size(bit));
    return most;
  }
  /// Calls visit(node) for the nodes at distance `bit` from their parents.
  template <typename Visit>
  void level(int bit, Visit&& visit) const {
    for (int node = bit; node < ranks_; node += 2 * bit) visit(node);
  }

 private:
  Rank root_;
  int ranks_;
};

/// Nodes first .. first + count - 1 as runs of adjacent ranks: calls visit(nodes skipped, rank, nodes).
template <typename Visit>
void rank_runs(const Shape& shape, int first, int count, Visit&& visit) {
  const Rank start = wrap(shape.root + first, shape.ranks);
  const int before_end = std::min(count, shape.ranks - start);
  visit(0, start, before_end);
  if (before_end < count) visit(before_end, 0, count - before_end);
}

}  // namespace

ir::Plan binomial_broadcast(const Shape& shape) {
  const BinomialTree tree(shape);
  Builder plan("binomial", shape);
  for (uint32_t c = 0; c < shape.chunks; ++c) {
    std::vector<Operand> held(static_cast<size_t>(shape.ranks), ir::input(c));
    for (int bit = tree.reach(); bit > 0; bit /= 2) {
      tree.level(bit, [&](int node) {
        const int parent = tree.parent(node);
        held[static_cast<size_t>(node)] = ir::value(plan.send(
            tree.rank(parent), tree.rank(node), held[static_cast<size_t>(parent)], {.to = ir::output(c)}));
      });
    }
    plan.local(shape.root, ir::input(c), {.to = ir::output(c)});
  }
  return plan.take();
}

ir::Plan binomial_reduce(const Shape& shape) {
  const BinomialTree tree(shape);
  Builder plan("binomial", shape);
  for (uint32_t c = 0; c < shape.chunks; ++c) {
    std::vector<Operand> sums(static_cast<size_t>(shape.ranks), ir::input(c));
    for (int bit = 1; bit <= tree.reach(); bit *= 2) {
      tree.level(bit, [&](int node) {
        const int parent = tree.parent(node);
        const Operand to = bit == tree.reach() ? ir::output(c) : Operand{};  // only the root is that far
        Operand& sum = sums[static_cast<size_t>(parent)];
        sum = ir::value(plan.send(tree.rank(node), tree.rank(parent), sums[static_cast<size_t>(node)],
                                  {.with = sum, .to = to}));
      });
    }
  }
  return plan.take();
}

ir::Plan binomial_gather(const Shape& shape) {
  const BinomialTree tree(shape);
  const auto chunk = [&](int blocks) { return static_cast<uint32_t>(blocks) * shape.chunks; };
  Builder plan("binomial", shape);
  plan.scratch_chunks(tree.largest() > 1 ? chunk(tree.largest()) : 0);
  plan.local(shape.root, ir::input(0), {.to = ir::output(chunk(shape.root)), .chunks = shape.chunks});
  for (int node = 1; node < shape.ranks; ++node) {
    if (tree.size(node) > 1)
      plan.local(tree.rank(node), ir::input(0), {.to = ir::scratch(0), .chunks = shape.chunks});
  }
  for (int bit = 1; bit <= tree.reach(); bit *= 2) {
    tree.level(bit, [&](int node) {
      const int size = tree.size(node);
      const int parent = tree.parent(node);
      const Operand from = size > 1 ? ir::scratch(0) : ir::input(0);
      if (parent != 0) {
        plan.send(tree.rank(node), tree.rank(parent), from,
                  {.to = ir::scratch(chunk(node - parent)), .chunks = chunk(size)});
        return;
      }
      rank_runs(shape, node, size, [&](int skipped, Rank rank, int blocks) {
        plan.send(tree.rank(node), shape.root, {from.kind, from.index + chunk(skipped)},
                  {.to = ir::output(chunk(rank)), .chunks = chunk(blocks)});
      });
    });
  }
  return plan.take();
}

ir::Plan binomial_scatter(const Shape& shape) {
  const BinomialTree tree(shape);
  const auto chunk = [&](int blocks) { return static_cast<uint32_t>(blocks) * shape.chunks; };
  Builder plan("binomial", shape);
  plan.scratch_chunks(tree.largest() > 1 ? chunk(tree.largest()) : 0);
  for (int bit = tree.reach(); bit > 0; bit /= 2) {
    tree.level(bit, [&](int node) {
      const int size = tree.size(node);
      const int parent = tree.parent(node);
      const Operand to = size > 1 ? ir::scratch(0) : ir::output(0);
      if (parent != 0) {
        plan.send(tree.rank(parent), tree.rank(node), ir::scratch(chunk(node - parent)),
                  {.to = to, .chunks = chunk(size)});
        return;
      }
      rank_runs(shape, node, size, [&](int skipped, Rank rank, int blocks) {
        plan.send(shape.root, tree.rank(node), ir::input(chunk(rank)),
                  {.to = {to.kind, to.index + chunk(skipped)}, .chunks = chunk(blocks)});
      });
    });
  }
  plan.local(shape.root, ir::input(chunk(shape.root)), {.to = ir::output(0), .chunks = shape.chunks});
  for (int node = 1; node < shape.ranks; ++node) {
    if (tree.size(node) > 1)
      plan.local(tree.rank(node), ir::scratch(0), {.to = ir::output(0), .chunks = shape.chunks});
  }
  return plan.take();
}

}  // namespace weir::algorithms
