// SPDX-License-Identifier: Apache-2.0
/// The sequences of one micro-batch, and what the model makes of them, where a rank computes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/data/text.h"
#include "trainer/model/unit.h"
#include "trainer/run/array.h"
#include "trainer/run/settings.h"
#include "trainer/shard/arrays.h"
#include "trainer/shard/grains.h"

namespace weir::trainer {

/// Used by one thread at a time; movable. Sequences are numbered within their global batch.
class Tokens {
 public:
  /// Room for `sequences` of them.
  static Result<Tokens> make(Index sequences, const Settings& settings, const shard::Arrays& where);

  /// A batch of these sequences, which are drawn then.
  Batch batch(shard::GrainRange sequences);
  /// Those of a step: what they are depends on the seed and their numbers only.
  Status draw(const Text& text, Index step, const Batch& batch);
  /// Of the `count` that the held-out text is evaluated with.
  Status draw_held_out(const Text& text, Index count, const Batch& batch);
  /// One sequence that ends with these bytes, zeros after it.
  Status put(std::span<const char> bytes);
  /// Appends the loss of each sequence of the batch.
  Status append_losses(const Batch& batch, std::vector<float>& sums);

 private:
  Tokens(const Settings& settings, const shard::Arrays& where)
      : length_(settings.config.length),
        seed_(settings.seed),
        by_sequence_(settings.canonical),
        where_(where) {}
  Status bring();

  Index length_;
  uint64_t seed_;
  bool by_sequence_;
  shard::Arrays where_;
  std::vector<uint8_t> inputs_;
  std::vector<uint8_t> targets_;
  std::vector<float> losses_;
  Array there_;  ///< on a GPU: losses, inputs and targets, one after the other
};

}  // namespace weir::trainer
