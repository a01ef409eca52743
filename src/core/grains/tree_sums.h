// SPDX-License-Identifier: Apache-2.0
/// Adds arrays in the order of a GrainTree, whatever order they come in.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "src/core/grains/grain_tree.h"
#include "weir/status.h"

namespace weir::core {

using Floats = std::vector<float>;

/// Arrays that are used again. Thread-safe.
class FloatPool {
 public:
  /// `length` floats of any value.
  Floats take(size_t length);
  void give(Floats array);

 private:
  std::mutex mutex_;
  std::map<size_t, std::vector<Floats>> idle_;  ///< by length
};

/// Keeps at most one array per node that waits for its sibling. Used by one thread at a time.
class TreeSums {
 public:
  /// GrainNodes of `tree`, arrays of one length; `pool` outlives it and gets the arrays that are no longer
  /// needed.
  TreeSums(GrainTree tree, FloatPool& pool) : tree_(tree), pool_(&pool) {}

  /// Adds the sum of a sub-tree. invalid_argument when the tree has no such node or some of its grains were
  /// added before (where those were merged upwards already, by the node above them).
  Status add(GrainNode node, Floats sum);

  /// What is there, from left to right; afterwards there is nothing.
  std::vector<std::pair<GrainNode, Floats>> take();

 private:
  bool overlaps(GrainNode node) const;

  GrainTree tree_;
  FloatPool* pool_;
  std::map<GrainNode, Floats> waiting_;
};

}  // namespace weir::core
