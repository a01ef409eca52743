/// Canonical reduce-scatter: the same bits for any world size, strategy, plan and transport.
///
/// Sums follow the balanced binary tree over global grains (trainer/shard/grains.h). Each rank has added its
/// own grains up to the sub-trees that cover them, sends of each sub-tree's sum every other rank the piece
/// that this one owns, and owners add what they receive in the order of the tree. A rank sends as many bytes
/// as with a ring for each of its sub-trees. Bytes are only copied on their way, so no transport and no order
/// of arrival can change the result.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "trainer/shard/layout.h"
#include "trainer/shard/tree_sums.h"
#include "weir/status.h"

namespace weir::shard {

/// What all ranks know of one exchange.
struct CanonicalShape {
  int rank = 0;
  std::vector<std::vector<Node>> roots;  ///< by rank: the sub-trees whose sums it has
  std::vector<Range> pieces;             ///< by rank: the elements it owns; disjoint
};

/// One reduce-scatter. Used by one thread at a time.
class CanonicalReduction {
 public:
  /// Queues one group of sends and receives over `comm`, whose ranks are those of `shape`; it may be NULL
  /// where there is one rank. `own` are this rank's sums of whole arrays, in the order of its roots; they are
  /// kept until finish(), as what is queued reads them. `pool` outlives this. invalid_usage where `own` has
  /// not the roots of the shape.
  static Result<CanonicalReduction> start(CanonicalShape shape, std::vector<std::pair<Node, Floats>> own,
                                          FloatPool& pool, ncclComm_t comm, cudaStream_t stream);

  /// Adds the own piece of every rank's sums to `sums`. REQUIRES: the stream has come past start().
  Status finish(TreeSums& sums);

  /// Sent to other ranks.
  size_t bytes_sent() const;

 private:
  CanonicalReduction(CanonicalShape shape, std::vector<std::pair<Node, Floats>> own, FloatPool& pool)
      : shape_(std::move(shape)), own_(std::move(own)), pool_(&pool) {}
  Status queue(ncclComm_t comm, cudaStream_t stream);
  int ranks() const { return static_cast<int>(shape_.roots.size()); }
  size_t piece_length() const { return shape_.pieces[shape_.rank].count; }

  CanonicalShape shape_;
  std::vector<std::pair<Node, Floats>> own_;
  std::vector<std::pair<Node, Floats>> received_;  ///< pieces
  FloatPool* pool_;
};

}  // namespace weir::shard
