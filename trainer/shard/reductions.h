// SPDX-License-Identifier: Apache-2.0
/// Gradients of whole units on their way to the shards that own them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trainer/shard/calls.h"
#include "trainer/shard/grains.h"
#include "trainer/shard/layout.h"
#include "trainer/shard/record.h"
#include "weir/status.h"

namespace weir::shard {

/// What both kinds of reductions work on. What is pointed to outlives them.
struct ReductionSetup {
  std::vector<Unit> units;
  std::vector<Cut> cuts;
  std::vector<Place> places;  ///< of all ranks of the world
  int rank = 0;
  std::vector<float*> shards;  ///< where gradients of the own shard go; room for all its pieces, padded
  int under_way = 2;           ///< whole units whose gradients may be on their way; at least 1
  Precision precision = Precision::float32;  ///< what gradients travel and are added as; plain ones only
  PassRecord* record = nullptr;
  GpuOps* gpu = nullptr;  ///< whose memory all arrays are in; null: the host's

  const Place& place() const { return places[rank]; }
};

/// Sums over ranks and micro-batches; nothing is scaled. Reductions are queued in the order of the calls,
/// which must be the same on all ranks. Used by one thread at a time.
class Reductions {
 public:
  virtual ~Reductions() = default;

  /// Forgets all sums.
  virtual Status begin(const GrainPlan& plan) = 0;
  /// Where the gradients of `unit` are to be added to what is there: those of a grain or a sub-tree where
  /// sums are canonical, else those of all grains of a micro-batch. Valid until close() or reduce().
  virtual Result<std::span<float>> gradients(int unit) = 0;
  /// What was added since gradients() is complete for these grains, one sub-tree of them.
  virtual Status close(int unit, GrainRange grains) = 0;
  /// All gradients of `unit` in this micro-batch were added. Queues; waits only where too many are under way.
  virtual Status reduce(int unit, int micro_batch) = 0;
  /// Waits until the shards hold the sums.
  virtual Status finish() = 0;
  /// Ends what is under way with an error.
  virtual void abort() = 0;
};

/// Bytes that plain reductions need per element of a unit that is under way.
size_t bytes_under_way(const Place& place, Precision precision);

/// Reductions by the library: reduce-scatter over the ranks that share a copy (`shards`), all-reduce over its
/// replicas; either communicator may be empty. The library's plan decides the order of sums.
Result<std::unique_ptr<Reductions>> plain_reductions(ReductionSetup setup, Communicator shards,
                                                     Communicator replicas);

/// Reductions whose bits depend on the number of grains only (weir/grains.h). `world` has all ranks;
/// `replicas` may be empty where there are none.
Result<std::unique_ptr<Reductions>> canonical_reductions(ReductionSetup setup, Communicator world,
                                                         Communicator replicas);

}  // namespace weir::shard
