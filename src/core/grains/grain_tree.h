// SPDX-License-Identifier: Apache-2.0
/// The balanced binary tree that canonical sums follow. Pure.
///
/// A grain is the smallest part of a sum; grains are numbered from 0 and are the leaves of the tree. A node
/// of level k covers grains [i 2^k, (i + 1) 2^k) and is the sum of its two halves; a half without grains adds
/// nothing. A contiguous range of G grains is covered by at most 2 log2 G nodes, so ranks can send sums of
/// sub-trees instead of grains.
/// Tests: tests/core/grains/grain_tree_test.cc
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weir::core {

struct GrainNode {
  int level = 0;
  uint64_t index = 0;
  auto operator<=>(const GrainNode&) const = default;
};

/// Grains [first, end).
struct GrainRange {
  uint64_t first = 0;
  uint64_t end = 0;
};

class GrainTree {
 public:
  /// A tree over `grains` leaves, at least 1.
  explicit GrainTree(uint64_t grains);

  uint64_t grains() const { return grains_; }
  GrainNode root() const { return GrainNode{levels_, 0}; }
  /// Whether the node covers any grain.
  bool has(GrainNode node) const { return node.level <= levels_ && node.index << node.level < grains_; }
  /// The other half of the node's parent, if that half has grains. REQUIRES: `node` is not the root.
  std::optional<GrainNode> sibling(GrainNode node) const;
  static GrainNode parent(GrainNode node) { return GrainNode{node.level + 1, node.index / 2}; }
  /// The smallest set of nodes that covers a range, from left to right; empty for an empty range. REQUIRES:
  /// first <= end <= grains().
  std::vector<GrainNode> cover(GrainRange range) const;

 private:
  uint64_t grains_;
  int levels_ = 0;
};

/// The sum of values in the order of the tree over their indices; 0 for no values.
float tree_sum(std::span<const float> values);

}  // namespace weir::core
