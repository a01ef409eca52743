/// Sums whose bits depend on nothing but the number of grains: the tree they follow, and who works on which
/// grains. Pure.
///
/// A grain is the smallest part of a global batch, a fixed number of sequences. Grains are the leaves of a
/// balanced binary tree over their numbers: a node of level k covers grains [i 2^k, (i + 1) 2^k) and is the
/// sum of its two halves, the left one first; a half without grains adds nothing. A contiguous range of
/// grains is covered by at most 2 log2 G nodes, so ranks can send sums of sub-trees instead of grains.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weir::shard {

struct Node {
  int level = 0;
  uint64_t index = 0;
  auto operator<=>(const Node&) const = default;
};

/// Grains [first, end).
struct GrainRange {
  uint64_t first = 0;
  uint64_t end = 0;
  uint64_t count() const { return end - first; }
};

class GrainTree {
 public:
  /// Over `grains` leaves, at least 1.
  explicit GrainTree(uint64_t grains);

  uint64_t grains() const { return grains_; }
  Node root() const { return Node{levels_, 0}; }
  /// Whether it covers a grain.
  bool has(Node node) const { return node.level <= levels_ && node.index << node.level < grains_; }
  /// The other half of the parent, if that has grains. REQUIRES: not the root.
  std::optional<Node> sibling(Node node) const;
  static Node parent(Node node) { return Node{node.level + 1, node.index / 2}; }
  /// The fewest nodes that cover a range, from left to right; none for an empty one.
  std::vector<Node> cover(GrainRange range) const;

 private:
  uint64_t grains_;
  int levels_ = 0;
};

/// The sum of values in the order of the tree over their places; 0 for none.
float tree_sum(std::span<const float> values);

/// Which rank works on which grains of a global batch in which micro-batch. A rank has a contiguous range, in
/// micro-batches of at most `per_micro` grains; ranks with less of them have empty ones at the end.
class GrainPlan {
 public:
  /// `per_micro` 0: all at once.
  GrainPlan(uint64_t grains, int ranks, uint64_t per_micro = 0);

  uint64_t grains() const { return grains_; }
  int ranks() const { return ranks_; }
  int micro_batches() const { return micro_batches_; }
  GrainRange of(int rank) const;
  GrainRange of(int rank, int micro_batch) const;

 private:
  uint64_t grains_;
  int ranks_;
  uint64_t per_micro_;
  int micro_batches_;
};

}  // namespace weir::shard
