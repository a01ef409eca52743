// SPDX-License-Identifier: Apache-2.0
/// Canonical reduce-scatter: sums of arrays whose bits depend on nothing but the number of grains, whatever
/// the number of ranks, who has which grains, the plan and the transport (weir/grains.h).
///
/// Each rank adds its own grains up to the sub-trees that cover them, sends of each sub-tree's sum every
/// other rank the piece that this one owns, and owners add what they receive in the order of the tree. A rank
/// sends as many bytes as with a ring for each of its sub-trees. Bytes are only copied on their way, so no
/// transport and no order of arrival can change the result.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "src/core/communicator/communicator.h"
#include "src/core/grains/tree_sums.h"
#include "src/device/host_stream.h"

namespace weir::core {

/// Elements [first, first + count) of the array.
struct ElementRange {
  size_t first = 0;
  size_t count = 0;
};

/// One sum after the other, of arrays of one length. Used by one thread at a time. Destroyed only when the
/// streams of all exchanges have come past them.
class GrainSum {
 public:
  /// `pieces`: by rank, what it owns. invalid_argument where these overlap or leave the array.
  static Result<std::unique_ptr<GrainSum>> make(size_t elements, std::vector<ElementRange> pieces, Rank rank,
                                                std::shared_ptr<FloatPool> pool);
  ~GrainSum();

  /// Forgets what was added. The next sum is over `grains` grains, at least 1, on all ranks.
  Status begin(uint64_t grains);
  /// An array of zeros to add to; the same one until close().
  Result<float*> open();
  /// What was opened is the sum of these grains, which make one sub-tree.
  Status close(GrainRange grains);
  /// Sends what was closed since the last exchange, which is `ranges[own rank]`, and receives those of
  /// others. Collective; `communicator` has the ranks of `pieces`. Returns when queued, without a stream when
  /// done. Returns the bytes sent.
  Result<size_t> exchange(Communicator& communicator, std::span<const GrainRange> ranges,
                          std::shared_ptr<device::HostStream> stream);
  /// Waits until the stream has come past the oldest exchange.
  void await_oldest() const;
  /// Adds what the oldest exchange brought. REQUIRES: the stream has come past it, without an error.
  Status settle();
  /// Writes the own piece; then the sum is over. invalid_usage while grains are missing.
  Status finish(float* result);

  bool under_way() const { return !exchanges_.empty(); }

 private:
  using Sums = std::vector<std::pair<GrainNode, Floats>>;
  struct Exchange {
    Sums own;       ///< whole arrays, which are read until it is over
    Sums received;  ///< pieces
    std::shared_ptr<device::HostStream> stream;
    std::unique_ptr<device::HostEvent> done;
  };

  GrainSum(size_t elements, std::vector<ElementRange> pieces, Rank rank, std::shared_ptr<FloatPool> pool);
  Status check_own(const Sums& own, GrainRange range) const;
  std::vector<Operation> sends_and_receives(Exchange& exchange, std::span<const GrainRange> ranges);

  const size_t elements_;
  const std::vector<ElementRange> pieces_;  ///< by rank
  const Rank rank_;
  const std::shared_ptr<FloatPool> pool_;
  std::optional<GrainTree> tree_;  ///< null: no sum was begun
  std::optional<TreeSums> local_;  ///< whole arrays of own grains
  std::optional<TreeSums> owned_;  ///< own pieces of all grains
  Floats current_;                 ///< what is being added to
  std::deque<Exchange> exchanges_;
};

}  // namespace weir::core
