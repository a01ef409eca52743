// SPDX-License-Identifier: Apache-2.0
/// Adds arrays in the order of a GrainTree, in whatever order they arrive.
/// Tests: tests/core/grains/grain_tree_test.cc
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/core/grains/grain_tree.h"

namespace weir::core {

using Floats = std::vector<float>;

/// A pool of arrays for reuse. Thread-safe.
class FloatPool {
 public:
  /// An array of `length` floats with unspecified values.
  Floats take(size_t length);
  void give(Floats array);

 private:
  std::mutex mutex_;
  std::map<size_t, std::vector<Floats>> idle_;  ///< unused arrays by length
};

/// Keeps at most one array per node that waits for its sibling. Used by one thread at a time.
class TreeSums {
 public:
  /// Sums of nodes of `tree`, as arrays of one length; `pool` outlives it and gets arrays that are no longer
  /// needed.
  TreeSums(GrainTree tree, FloatPool& pool) : tree_(tree), pool_(&pool) {}

  /// Adds the sum of a sub-tree. invalid_argument if the tree has no such node, or if some of its grains were
  /// added before (for grains that were merged upwards already: with a node above them).
  Status add(GrainNode node, Floats sum);

  /// Removes and returns all sums, from left to right.
  std::vector<std::pair<GrainNode, Floats>> take();

 private:
  bool overlaps(GrainNode node) const;

  GrainTree tree_;
  FloatPool* pool_;
  std::map<GrainNode, Floats> waiting_;
};

}  // namespace weir::core
