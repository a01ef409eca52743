// SPDX-License-Identifier: Apache-2.0
/// Sharded training of a list of units: parameters gathered ahead of use, gradients reduced behind it.
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
/// and micro-batches, so that unequal ones weigh what they should.
///
/// All ranks make the same calls in the same order, also ranks whose micro-batch is empty. Collectives run on
/// streams of the engine: gathers on one, reductions on another, each with communicators of its own. Errors
/// are those of the library; after one the engine ends what is under way and can only be destroyed.
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
  int shard_ranks = 0;  ///< of HYBRID_SHARD: ranks that share a copy; 0: those of one host
  int forward_prefetch = 1;
  int backward_prefetch = 1;
  Precision gather = Precision::float32;  ///< bfloat16: parameters are rounded to it when gathered
  /// bfloat16: gradients are rounded to it, and added so between ranks; micro-batches are added in fp32.
  Precision reduce = Precision::float32;
  LimiterOptions limiter;  ///< of gathers; its bytes are the memory they may take
  bool canonical = false;  ///< the same bits for any number of ranks; else the library's order
  /// Where engines of several ranks train a part of a model each: one rank for each part, in their order.
  /// Norms are those of all parts. Null: this one trains all of it. Outlives the engine.
  ncclComm_t replica = nullptr;
  GpuOps* gpu = nullptr;  ///< whose memory all arrays are in; null: the host's. Outlives the engine
  int reductions = 2;     ///< units whose whole gradients may be on their way
};

/// What a step adds up to over all ranks.
struct StepSums {
  uint64_t tokens = 0;
  float gradient_norm = 0;  ///< of the gradients per token
};

/// Bytes of memory of this rank.
struct EngineMemory {
  size_t shards = 0;     ///< parameters and gradients of the own shard
  size_t gathered = 0;   ///< at most, for whole parameters
  size_t gradients = 0;  ///< at most, for whole gradients on their way; 0 where sums are canonical
};

/// Used by one thread.
class Engine {
 public:
  /// Collective over `world`, which outlives the engine and is used for sums of a few numbers. Parameters are
  /// zero at first.
  static Result<std::unique_ptr<Engine>> create(ncclComm_t world, std::vector<Unit> units,
                                                const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const std::vector<Unit>& units() const { return units_; }
  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(places_.size()); }
  const std::vector<Place>& places() const { return places_; }
  /// Which parameters of the unit this rank has. Empty for some ranks where the unit is small.
  Range shard_range(int unit) const { return cuts_[unit].shard(places_[rank_].shard); }
  /// Those that it alone has: what it writes to a checkpoint.
  Range piece_range(int unit) const { return cuts_[unit].piece(places_[rank_]); }
  /// The parameters of shard_range(), fp32: written by the owner, between passes only. In the GPU's memory
  /// where the engine is on one.
  std::span<float> shard(int unit);
  /// Their gradients, valid from finish_step() to begin_step().
  std::span<float> gradient_shard(int unit);

  /// Starts a training step, and its first gathers. `passes` is the order in which this rank goes forward and
  /// backward: each micro-batch once, in order, backward after forward; empty: one micro-batch after the
  /// other.
  Status begin_step(const GrainPlan& plan, std::vector<Pass> passes = {});
  /// Starts one forward pass without gradients.
  Status begin_evaluation();
  /// Whole parameters, for the visit that is due; waits for them. Valid until release().
  Result<std::span<const float>> gathered(int unit);
  /// The parameters are not needed until the next visit.
  Status release(int unit);

  /// Where gradients are added, see Reductions; only between gathered() and release() of a backward visit.
  Result<std::span<float>> gradients(int unit);
  /// Canonical sums: what was added is complete for these grains, one sub-tree. Else without effect.
  Status close(int unit, GrainRange grains);
  Status reduce(int unit);
  /// Waits for all gradients, and scales them. `tokens` are those of this rank in all its micro-batches.
  Result<StepSums> finish_step(uint64_t tokens);

  /// The sum of one value per grain in the order of the tree. `own` has those of plan.of(rank()).
  Result<float> sum_over_grains(const GrainPlan& plan, std::span<const float> own);

  const LimiterCounts& limiter() const { return gathers_->limiter(); }
  /// Since the pass began.
  const PassRecord& record() const { return *record_; }
  EngineMemory memory() const;
  /// Where all its arrays are.
  const Arrays& arrays() const { return arrays_; }
  /// Ends what is under way on this rank with an error, and soon on others too.
  void abort();

 private:
  Engine(ncclComm_t world, std::vector<Unit> units, const EngineOptions& options);
  Status set_up();
  Status make_shards();
  Status make_gathers();
  Status make_reductions();
  Status usable() const;
  Status check_backward(int unit, const char* function) const;
  Result<float> gradient_norm();
  Status join_parts();
  /// After an error of a collective nothing can go on.
  Status kept(Status status);

  ncclComm_t world_;
  std::vector<Unit> units_;
  EngineOptions options_;
  int rank_ = 0;
  std::vector<Place> places_;
  std::vector<Cut> cuts_;
  Arrays arrays_;
  std::vector<Memory> masters_;    ///< by unit: the own shard, padded
  std::vector<Memory> gradients_;  ///< by unit: of the own shard, padded
  std::vector<bool> reduced_;      ///< by unit: in the present micro-batch
  size_t norm_blocks_before_ = 0;  ///< of the parts of the model before this one
  size_t norm_blocks_ = 0;         ///< of all parts
  std::optional<PassRecord> record_;
  std::optional<Gathers> gathers_;
  std::unique_ptr<Reductions> reductions_;
  bool training_ = false;
  bool failed_ = false;
};

}  // namespace weir::shard
