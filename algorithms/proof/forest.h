// SPDX-License-Identifier: Apache-2.0
/// Dynamic trees over fixed nodes: Sleator and Tarjan, "A data structure for dynamic trees" (JCSS 26, 1983),
/// as splay trees over paths. A change takes amortised logarithmic time.
///
/// Not thread-safe.
/// Tests: tests/algorithms/cluster_proof_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace weir::algorithms {

class Forest {
 public:
  /// Initially all nodes are roots.
  explicit Forest(size_t nodes) : nodes_(nodes) {}

  /// Makes `node` a root again; does nothing if it is one.
  void cut(int32_t node) {
    expose(node);
    const int32_t above = at(node).child[0];
    if (above < 0) return;
    at(above).parent = -1;
    at(node).child[0] = -1;
  }

  /// Attaches a root below `parent`; returns false without a change if the root is above `parent` already.
  bool link(int32_t root, int32_t parent) {
    if (root == parent || top(parent) == root) return false;
    expose(root);
    at(root).parent = parent;
    return true;
  }

 private:
  /// A node of the splay tree that represents a path; nodes nearer to the root come first.
  struct Node {
    int32_t parent = -1;  ///< in the splay tree, or, for its root, the node to which the path is attached
    int32_t child[2] = {-1, -1};
  };
  Node& at(int32_t node) { return nodes_[static_cast<size_t>(node)]; }

  bool heads_path(int32_t node) {
    const int32_t parent = at(node).parent;
    return parent < 0 || (at(parent).child[0] != node && at(parent).child[1] != node);
  }

  void rotate(int32_t node) {
    const int32_t parent = at(node).parent;
    const int32_t above = at(parent).parent;
    const int side = at(parent).child[1] == node ? 1 : 0;
    if (!heads_path(parent)) at(above).child[at(above).child[1] == parent ? 1 : 0] = node;
    const int32_t inner = std::exchange(at(node).child[1 - side], parent);
    at(parent).child[side] = inner;
    if (inner >= 0) at(inner).parent = parent;
    at(parent).parent = node;
    at(node).parent = above;
  }

  void splay(int32_t node) {
    while (!heads_path(node)) {
      const int32_t parent = at(node).parent;
      if (!heads_path(parent)) {
        const bool same = (at(at(parent).parent).child[1] == parent) == (at(parent).child[1] == node);
        rotate(same ? parent : node);
      }
      rotate(node);
    }
  }

  /// Makes the path from the tree's root to `node` one splay tree, with `node` as its root and last node.
  void expose(int32_t node) {
    int32_t below = -1;
    for (int32_t each = node; each >= 0; each = at(each).parent) {
      splay(each);
      at(each).child[1] = std::exchange(below, each);
    }
    splay(node);
  }

  int32_t top(int32_t node) {
    expose(node);
    int32_t first = node;
    while (at(first).child[0] >= 0) first = at(first).child[0];
    splay(first);
    return first;
  }

  std::vector<Node> nodes_;
};

}  // namespace weir::algorithms
