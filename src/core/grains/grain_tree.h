// SPDX-License-Identifier: Apache-2.0
/// The balanced binary tree that canonical sums follow. Pure.
///
/// A grain is the smallest part of what is summed, with a number from 0. Grains are the leaves of the tree:
/// a node of level k covers grains [i 2^k, (i + 1) 2^k) and is the sum of its two halves; a half without
/// grains adds nothing. A contiguous range of grains is covered by at most 2 log2 G nodes, so ranks can send
/// sums of sub-trees instead of grains.
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
  /// Over `grains` leaves, at least 1.
  explicit GrainTree(uint64_t grains);

  uint64_t grains() const { return grains_; }
  GrainNode root() const { return GrainNode{levels_, 0}; }
  /// Whether it covers a grain.
  bool has(GrainNode node) const { return node.level <= levels_ && node.index << node.level < grains_; }
  /// The other half of the parent, if that has grains. REQUIRES: not the root.
  std::optional<GrainNode> sibling(GrainNode node) const;
  static GrainNode parent(GrainNode node) { return GrainNode{node.level + 1, node.index / 2}; }
  /// The fewest nodes that cover a range, from left to right; none for an empty one. REQUIRES: first <= end
  /// <= grains().
  std::vector<GrainNode> cover(GrainRange range) const;

 private:
  uint64_t grains_;
  int levels_ = 0;
};

/// The sum of values in the order of the tree over their places; 0 for none.
float tree_sum(std::span<const float> values);

}  // namespace weir::core
