/// Adds arrays in the order of a GrainTree, whatever order they come in. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "trainer/shard/grains.h"
#include "weir/status.h"

namespace weir::shard {

using Floats = std::vector<float>;

/// Arrays that are used again. Used by one thread at a time.
class FloatPool {
 public:
  /// `length` floats of any value.
  Floats take(size_t length);
  void give(Floats array) { idle_[array.size()].push_back(std::move(array)); }

 private:
  std::map<size_t, std::vector<Floats>> idle_;  ///< by length
};

/// Keeps at most one array per node that waits for its sibling. Used by one thread at a time.
class TreeSums {
 public:
  /// Nodes of `tree`, arrays of one length; `pool` outlives it and gets the arrays that are no longer needed.
  TreeSums(GrainTree tree, FloatPool& pool) : tree_(tree), pool_(&pool) {}

  /// Adds the sum of a sub-tree. invalid_argument when the tree has no such node or some of its grains were
  /// added before (where those were merged upwards already, by the node above them).
  Status add(Node node, Floats sum);

  /// What is there, from left to right; afterwards there is nothing.
  std::vector<std::pair<Node, Floats>> take();

 private:
  bool overlaps(Node node) const;

  GrainTree tree_;
  FloatPool* pool_;
  std::map<Node, Floats> waiting_;
};

}  // namespace weir::shard
