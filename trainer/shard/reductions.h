// SPDX-License-Identifier: Apache-2.0
/// Reduction of whole units' gradients to the shards that own them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "trainer/shard/calls.h"
#include "trainer/shard/grains.h"
#include "trainer/shard/layout.h"
#include "trainer/shard/precision.h"
#include "trainer/shard/record.h"

namespace weir::shard {

/// The objects that both kinds of reductions work on. Objects that are pointed to outlive the reductions.
struct ReductionSetup {
  std::vector<Unit> units;
  std::vector<Cut> cuts;
  std::vector<Place> places;  ///< positions of all ranks of the world
  int rank = 0;
  std::vector<float*> shards;  ///< gradients of the own shard, long enough for all its padded pieces
  int under_way = 2;           ///< maximum number of units with gradients in flight; at least 1
  Precision precision = Precision::float32;  ///< type of gradients on the wire; bf16: and in sums over ranks
  PassRecord* record = nullptr;
  GpuOps* gpu = nullptr;  ///< GPU with all arrays; null: host memory

  const Place& place() const { return places[rank]; }
};

/// Sums over ranks and micro-batches; nothing is scaled. Reductions are queued in the order of the calls,
/// which must be the same on all ranks. Used by one thread at a time.
class Reductions {
 public:
  virtual ~Reductions() = default;

  /// Clears all sums.
  virtual Status begin(const GrainPlan& plan) = 0;
  /// The array to which the gradients of `unit` must be added: for canonical sums those of a grain or a
  /// sub-tree, otherwise those of all grains of a micro-batch. Valid until close() or reduce().
  virtual Result<std::span<float>> gradients(int unit) = 0;
  /// The gradients added since gradients() are complete for these grains, which form one sub-tree.
  virtual Status close(int unit, GrainRange grains) = 0;
  /// All gradients of `unit` in this micro-batch were added. Queues the reduction; waits only if too many are
  /// in flight.
  virtual Status reduce(int unit, int micro_batch) = 0;
  /// Waits until the shards contain the sums.
  virtual Status finish() = 0;
  /// Ends calls in flight with an error.
  virtual void abort() = 0;
};

/// Bytes per element that plain reductions need for a unit in flight.
size_t bytes_under_way(const Place& place, Precision precision);

/// Reductions by the library: reduce-scatter over the ranks that share a copy (`shards`), all-reduce over its
/// replicas; either communicator may be empty. The library's plan determines the order of sums.
Result<std::unique_ptr<Reductions>> plain_reductions(ReductionSetup setup, Communicator shards,
                                                     Communicator replicas);

/// Reductions whose bits depend only on the number of grains (weir/grains.h). `world` has all ranks;
/// `replicas` may be empty if there are none.
Result<std::unique_ptr<Reductions>> canonical_reductions(ReductionSetup setup, Communicator world,
                                                         Communicator replicas);

}  // namespace weir::shard
