// SPDX-License-Identifier: Apache-2.0
/// Canonical reduce-scatter: sums of arrays whose bits depend only on the number of grains, not on the number
/// of ranks, the distribution of grains, the plan or the transport (weir/grains.h).
///
/// Each rank adds its own grains up to the sub-trees that cover them and sends each other rank the piece of
/// each sub-tree's sum that this rank owns; owners add the received pieces in the order of the tree. For each
/// of its sub-trees a rank sends as many bytes as with a ring. Data is only copied on its way, so neither
/// transport nor order of arrival can change the result.
/// Tests: tests/api/grains_test.cc
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

/// Computes one sum after the other, of arrays of one length. Used by one thread at a time. May be destroyed
/// only after the streams have completed all exchanges.
class GrainSum {
 public:
  /// `pieces`: the elements that each rank owns. invalid_argument if these overlap or exceed the array.
  static Result<std::unique_ptr<GrainSum>> make(size_t elements, std::vector<ElementRange> pieces, Rank rank,
                                                std::shared_ptr<FloatPool> pool);
  ~GrainSum();

  /// Discards the last sum and begins one over `grains` grains, at least 1, on all ranks.
  Status begin(uint64_t grains);
  /// An array of zeros for the caller to add to; the same one until close().
  Result<float*> open();
  /// Declares the opened array to be the sum of these grains, which must be one sub-tree.
  Status close(GrainRange grains);
  /// Sends the sums closed since the last exchange, of the grains `ranges[own rank]`, and receives those of
  /// the other ranks. Collective; `communicator` has the ranks of `pieces`. Returns when queued, or, without
  /// a stream, when done. Returns the number of bytes sent.
  Result<size_t> exchange(Communicator& communicator, std::span<const GrainRange> ranges,
                          std::shared_ptr<device::HostStream> stream);
  /// Waits until the stream has completed the oldest exchange.
  void await_oldest() const;
  /// Adds the data of the oldest exchange. REQUIRES: the stream has completed it without an error.
  Status settle();
  /// Writes this rank's piece and ends the sum. invalid_usage while grains are missing.
  Status finish(float* result);

  bool under_way() const { return !exchanges_.empty(); }

 private:
  using Sums = std::vector<std::pair<GrainNode, Floats>>;
  struct Exchange {
    Sums own;       ///< whole arrays, which are read until the exchange ends
    Sums received;  ///< received pieces
    std::shared_ptr<device::HostStream> stream;
    std::unique_ptr<device::HostEvent> done;
  };

  GrainSum(size_t elements, std::vector<ElementRange> pieces, Rank rank, std::shared_ptr<FloatPool> pool);
  Status check_own(const Sums& own, GrainRange range) const;
  std::vector<Operation> sends_and_receives(Exchange& exchange, std::span<const GrainRange> ranges);

  const size_t elements_;
  const std::vector<ElementRange> pieces_;  ///< pieces by rank
  const Rank rank_;
  const std::shared_ptr<FloatPool> pool_;
  std::optional<GrainTree> tree_;  ///< empty: no sum was begun
  std::optional<TreeSums> local_;  ///< whole arrays of own grains
  std::optional<TreeSums> owned_;  ///< own pieces of all grains
  Floats current_;                 ///< the opened array
  std::deque<Exchange> exchanges_;
};

}  // namespace weir::core
