// SPDX-License-Identifier: Apache-2.0
/// Sharded training of a list of units: parameters are gathered before their use, gradients reduced after it.
///
///     for each step:
///       engine.begin_step(plan);
///       for each micro-batch:
///         for unit = 0 ..:       parameters = engine.gathered(unit); ...; engine.release(unit);
///         for unit = last .. 0:  parameters = engine.gathered(unit); gradients = engine.gradients(unit);
///         ...;
///                                engine.reduce(unit); engine.release(unit);
///       sums = engine.finish_step(tokens);
///       for each unit: update engine.shard(unit) from engine.gradient_shard(unit)
///
/// Gradients are those of the *sum* of the loss over tokens. finish_step() divides by the tokens of all ranks
/// and micro-batches, so that micro-batches of unequal size have the right weight.
///
/// All ranks make the same calls in the same order, also ranks whose micro-batch is empty. Collectives run on
/// streams of the engine: gathers on one, reductions on another, each with its own communicators. Errors are
/// those of the library; after one, the engine ends calls in flight and can only be destroyed.
#pragma once

#include <nccl.h>

#include <memory>
#include <span>
#include <vector>

#include "trainer/shard/gathers.h"
#include "trainer/shard/reductions.h"

namespace weir::shard {

struct EngineOptions {
  Strategy strategy = Strategy::full_shard;
  int shard_ranks = 0;  ///< ranks per copy with HYBRID_SHARD, per secondary copy with HPZ; 0: those of a host
  int forward_prefetch = 1;
  int backward_prefetch = 1;
  Precision gather = Precision::float32;  ///< otherwise parameters are rounded when gathered
  /// Otherwise gradients are rounded before they travel; bfloat16: and added between ranks as such. Sums of
  /// int8 and float8, and those over micro-batches, are fp32.
  Precision reduce = Precision::float32;
  LimiterOptions limiter;  ///< limits gathers in flight and their memory
  bool canonical = false;  ///< the same bits for any number of ranks; otherwise the library's order of sums
  /// Communicator with one rank of each part, in the order of parts, if engines of several ranks train one
  /// part of a model each. Norms then cover all parts. Null: this engine trains the whole model. Outlives the
  /// engine.
  ncclComm_t replica = nullptr;
  GpuOps* gpu = nullptr;  ///< GPU with all arrays; null: host memory. Outlives the engine
  int reductions = 2;     ///< maximum number of units with whole gradients in flight
};

/// Sums of a step over all ranks.
struct StepSums {
  uint64_t tokens = 0;
  uint64_t votes = 0;       ///< of the ranks that train the same part of the model
  float gradient_norm = 0;  ///< norm of the gradients per token
};

/// Bytes of this rank's memory.
struct EngineMemory {
  size_t shards = 0;     ///< parameters and gradients of the rank's own shard, its part of a secondary copy
  size_t gathered = 0;   ///< maximum of gathered parameters
  size_t gradients = 0;  ///< maximum of whole gradients in flight; 0 for canonical sums
};

/// Used by one thread.
class ShardEngine {
 public:
  /// Collective over `world`, which outlives the engine and is used for sums of a few numbers. Parameters are
  /// initially zero.
  static Result<std::unique_ptr<ShardEngine>> create(ncclComm_t world, std::vector<Unit> units,
                                                     const EngineOptions& options);
  ~ShardEngine();
  ShardEngine(const ShardEngine&) = delete;
  ShardEngine& operator=(const ShardEngine&) = delete;

  const std::vector<Unit>& units() const { return units_; }
  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(places_.size()); }
  const std::vector<Place>& places() const { return places_; }
  /// The parameters of the unit that this rank's shard holds. Empty on some ranks if the unit is small.
  Range shard_range(int unit) const { return cuts_[unit].shard(places_[rank_].shard); }
  /// The parameters that only this rank owns; it writes them to checkpoints.
  Range piece_range(int unit) const { return cuts_[unit].piece(places_[rank_]); }
  /// The fp32 parameters of shard_range(), in GPU memory if the engine uses a GPU. The owner may write them
  /// between passes only.
  std::span<float> shard(int unit);
  /// The gradients of these parameters, valid from finish_step() to begin_step().
  std::span<float> gradient_shard(int unit);

  /// Starts a training step, and its first gathers. `passes` is the order of this rank's forward and backward
  /// passes: each micro-batch once, in order, backward after forward. Empty: one micro-batch after the other.
  Status begin_step(const GrainPlan& plan, std::vector<Pass> passes = {});
  /// Starts one forward pass without gradients.
  Status begin_evaluation();
  /// The whole parameters for the current visit; waits for them. Valid until release().
  Result<std::span<const float>> gathered(int unit);
  /// Ends the visit: the parameters are not needed until the next one.
  Status release(int unit);

  /// The array to which gradients are added, see Reductions; only between gathered() and release() of a
  /// backward visit.
  Result<std::span<float>> gradients(int unit);
  /// For canonical sums: the gradients of these grains, one sub-tree, are complete. Otherwise does nothing.
  Status close(int unit, GrainRange grains);
  Status reduce(int unit);
  /// Waits for all gradients, and scales them. `tokens` counts this rank's tokens in all its micro-batches.
  /// `votes` are added up with them: what a caller asks the other ranks for costs no message of its own.
  Result<StepSums> finish_step(uint64_t tokens, uint64_t votes = 0);

  /// The sum of one value per grain in the order of the tree. `own` has the values of plan.of(rank()).
  Result<float> sum_over_grains(const GrainPlan& plan, std::span<const float> own);

  const LimiterCounts& limiter() const { return gathers_->limiter(); }
  /// Collectives since the pass began.
  const PassRecord& record() const { return *record_; }
  EngineMemory memory() const;
  /// The memory in which all its arrays are.
  const Arrays& arrays() const { return arrays_; }
  /// Ends calls in flight on this rank with an error, and soon on others too.
  void abort();

 private:
  ShardEngine(ncclComm_t world, std::vector<Unit> units, const EngineOptions& options);
  Status set_up();
  Status make_shards();
  Status make_gathers();
  Status make_reductions();
  Status usable() const;
  Status check_backward(int unit, const char* function) const;
  Result<float> gradient_norm();
  Status join_parts();
  /// To be called after an error of a collective: the engine cannot continue.
  Status kept(Status status);

  ncclComm_t world_;
  std::vector<Unit> units_;
  EngineOptions options_;
  int rank_ = 0;
  std::vector<Place> places_;
  std::vector<Cut> cuts_;
  Arrays arrays_;
  std::vector<Memory> masters_;    ///< index: unit; the rank's own shard, padded
  std::vector<Memory> gradients_;  ///< index: unit; gradients of the rank's own shard, padded
  std::vector<bool> reduced_;      ///< index: unit; whether it was reduced in the current micro-batch
  size_t norm_blocks_before_ = 0;  ///< number of norm blocks in the parts of the model before this one
  size_t norm_blocks_ = 0;         ///< number of norm blocks in all parts
  std::optional<PassRecord> record_;
  std::optional<Gathers> gathers_;
  std::unique_ptr<Reductions> reductions_;
  bool training_ = false;
  bool failed_ = false;
};

}  // namespace weir::shard
