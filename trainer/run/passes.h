// SPDX-License-Identifier: Apache-2.0
/// The two loops of training: forward over the units of this rank's part of the model, and backward over them
/// in reverse; with what they keep between the two.
#pragma once

#include <span>
#include <vector>

#include "trainer/model/model.h"
#include "trainer/parallel/team.h"
#include "trainer/run/array.h"
#include "trainer/run/recorder.h"
#include "trainer/run/settings.h"
#include "trainer/shard/engine.h"

namespace weir::trainer {

/// Used by one thread at a time. All ranks of a replica go the same ways with the same micro-batches; ranks
/// with none go as well.
class Passes {
 public:
  /// What a pass works with; all of it outlives this.
  struct With {
    const Model& model;
    parallel::UnitRange units;  ///< of the model: this stage's
    parallel::Team& team;
    shard::Engine& shards;
    Ops& ops;
    Recorder& recorder;
    shard::Arrays where;
  };

  /// `largest`: the largest micro-batch; `slots`: those that may be between forward and backward.
  static Result<Passes> make(const With& with, const Batch& largest, int slots);

  /// With `logits` the head writes these instead of losses: [rows, kVocabulary].
  Status forward(const Batch& batch, int micro_batch, float* logits = nullptr);
  /// After forward with the same batch.
  Status backward(const Batch& batch, int micro_batch);
  /// Floats of all arrays.
  Index floats() const;

 private:
  // What lies between forward and backward of one micro-batch.
  struct Slot {
    Array input;                ///< what came from the stage before
    std::vector<Array> saved;   ///< by unit: by forward for backward
    std::vector<Array> output;  ///< by unit: the activations that leave it
  };

  explicit Passes(const With& with) : with_(with) {}
  Status make_slot(const Batch& largest);
  Status make(Array& array, Index count) const;
  const Unit& unit(size_t at) const { return *with_.model.units()[with_.units.first + at]; }
  int number(size_t at) const { return static_cast<int>(with_.units.first + at); }
  size_t slot_of(int micro_batch) const { return static_cast<size_t>(micro_batch) % slots_.size(); }
  size_t floats_between(const Batch& batch) const;
  Compute compute() { return {with_.ops, scratch_.data(), with_.team.slices()}; }
  Status receive(const Batch& batch, size_t slot);
  Result<std::span<const float>> gathered(size_t at);
  Status status() const;

  With with_;
  std::vector<Slot> slots_;
  std::vector<Array> gradients_;  ///< of activations, on their way back; used in turn
  Array scratch_;
};

}  // namespace weir::trainer
