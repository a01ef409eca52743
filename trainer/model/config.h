// SPDX-License-Identifier: Apache-2.0
/// The shape of a model: a decoder-only transformer, with norms before each half of a block,
/// and an output layer of its own, or one that is tied to the embedding: then both are one table of tokens
/// (Press and Wolf, "Using the output embedding to improve language models", 2017). It has one of two forms:
///  - GPT-2 (Radford et al., 2019): learned positions, layer norms, GELU in an MLP of four times the width,
///    biases;
///  - Llama (Touvron et al., 2023): rotary position embedding, RMS norms, SwiGLU, heads of queries that share
///    heads of keys and values (grouped-query attention), no biases.
/// Tests: tests/trainer/model_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "trainer/math/lanes.h"
#include "trainer/math/rotary_scaling.h"

namespace weir::trainer {

inline constexpr Index kBytes = 256;

enum class Form { gpt2, llama };

struct Config {
  std::string name;
  Index layers = 0;
  Index width = 0;
  Index heads = 0;
  Index length = 0;           ///< tokens per sequence
  Index vocabulary = kBytes;  ///< number of tokens; by default tokens are bytes
  Form form = Form::gpt2;
  bool tied = false;  ///< the weights of the output layer are those of the embedding
  // Of Llama's form only.
  Index key_value_heads = 0;     ///< heads of keys and values, a divisor of `heads`
  Index hidden = 0;              ///< width of the MLP between its layers
  float epsilon = 1e-5f;         ///< added to the mean square in RMS norms
  float rotary_base = 10000.0f;  ///< base of the rotary frequencies
  RotaryScaling rotary_scaling{};

  /// Floating-point operations of all products per trained token: 6 per parameter of a product, and 12 *
  /// layers * length * width for attention (whole squares, as is usual, although the masked half is not
  /// computed).
  double operations_per_token() const;
};

/// "tiny", "small", "medium", "124M", or one of Llama's form; otherwise an error that lists them.
Result<Config> preset(std::string_view name);
std::vector<std::string> preset_names();

}  // namespace weir::trainer
