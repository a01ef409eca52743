// SPDX-License-Identifier: Apache-2.0
/// How Llama 3.1 and later reach beyond the length for which rotary frequencies were made ("llama3" of
/// Hugging Face's rope_scaling; Grattafiori et al., "The Llama 3 herd of models", 2024): slow turns become
/// slower by a factor, fast ones stay, and those between are mixed.
/// Tests: tests/trainer/rows_test.cc
#pragma once

#include "trainer/math/lanes.h"

namespace weir::trainer {

/// Plain, so that it can be an argument of a GPU's kernel.
struct RotaryScaling {
  Index original_length = 0;  ///< of the sequences in first training; 0: frequencies are not scaled
  float factor = 1;           ///< divides the frequencies of pairs that turn fewer than `slow` times in it
  float slow = 1;
  float fast = 4;  ///< pairs that turn more often keep their frequencies; above `slow`

  bool operator==(const RotaryScaling&) const = default;
};

}  // namespace weir::trainer
