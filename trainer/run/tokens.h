// SPDX-License-Identifier: Apache-2.0
/// The sequences of one micro-batch and their losses, in the memory in which a rank computes.
#pragma once

#include <cstdint>
#include <optional>
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
  /// Allocates arrays for `sequences` sequences.
  static Result<Tokens> make(Index sequences, const Settings& settings, const shard::Arrays& where);

  /// A batch of these sequences; draw() or put() fills in their tokens.
  Batch batch(shard::GrainRange sequences);
  /// Draws the sequences of a training step; they depend only on the seed and their numbers.
  Status draw(const Text& text, Index step, const Batch& batch);
  /// Draws sequences of the `count` with which the held-out text is evaluated.
  Status draw_held_out(const Text& text, Index count, const Batch& batch);
  /// Fills in one sequence that begins with these tokens, followed by zeros.
  Status put(std::span<const Token> tokens);
  /// Appends the loss of each sequence of the batch.
  Status append_losses(const Batch& batch, std::vector<float>& sums);

 private:
  Tokens(const Settings& settings, const shard::Arrays& where)
      : length_(settings.config.length),
        seed_(settings.seed),
        by_sequence_(settings.canonical),
        separator_(settings.separator),
        where_(where) {}
  void copy(const Text& text, Index begin, Index sequence);
  Status bring();

  Index length_;
  uint64_t seed_;
  bool by_sequence_;
  std::optional<Token> separator_;
  shard::Arrays where_;
  std::vector<Token> inputs_;
  std::vector<Token> targets_;
  std::vector<Token> starts_;  ///< where each token's document begins; empty: documents are not separated
  std::vector<float> losses_;
  Array there_;  ///< GPU array: losses, inputs, targets and starts, consecutively
};

}  // namespace weir::trainer
