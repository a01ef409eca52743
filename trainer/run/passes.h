// SPDX-License-Identifier: Apache-2.0
/// The two loops of training: forward over the units of this rank's part of the model, and backward over them
/// in reverse, with the activations kept between the two.
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

/// Used by one thread at a time. All ranks of a replica make the same passes with the same micro-batches,
/// also ranks with empty ones.
class Passes {
 public:
  /// The objects that a pass works with; all outlive it.
  struct With {
    const Model& model;
    parallel::UnitRange units;  ///< the units of the model that form this stage
    parallel::Team& team;
    shard::ShardEngine& shards;
    Ops& ops;
    Recorder& recorder;
    shard::Arrays where;
  };

  /// `largest`: the largest micro-batch; `slots`: maximum number of micro-batches between forward and
  /// backward.
  static Result<Passes> make(const With& with, const Batch& largest, int slots);

  /// If `logits` is given, the head writes these instead of losses: [rows, vocabulary].
  Status forward(const Batch& batch, int micro_batch, float* logits = nullptr);
  /// To be called after forward with the same batch.
  Status backward(const Batch& batch, int micro_batch);
  /// Number of floats of all arrays.
  Index floats() const;

 private:
  // The arrays kept between forward and backward of one micro-batch.
  struct Slot {
    Array input;                ///< activations received from the previous stage
    std::vector<Array> saved;   ///< index: unit; saved by forward for backward
    std::vector<Array> output;  ///< index: unit; the unit's output activations
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
  Batch with_tied(const Batch& batch);
  Result<std::span<const float>> gathered(size_t at);
  Status status() const;

  With with_;
  std::vector<Slot> slots_;
  std::vector<Array> gradients_;  ///< gradients of activations; two arrays used alternately
  Array scratch_;
  Array tied_;  ///< those of Batch::tied, if the model is tied
};

}  // namespace weir::trainer
