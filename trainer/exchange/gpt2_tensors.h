// SPDX-License-Identifier: Apache-2.0
/// Where the tensors of this model are in a model of Hugging Face's class GPT2LMHeadModel. Pure.
///
/// The architecture is the same: layer norms (epsilon 1e-5) before attention and MLP and at the end, biases
/// in every layer but the output layer, GELU in its tanh form, attention scaled by 1 / sqrt(head size);
/// queries, keys and values lie side by side, each ordered by head. What differs is the layout of weights:
/// theirs are [inputs, outputs] in blocks and [outputs, inputs] in the output layer.
/// Tests: tests/trainer/exchange_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/model/parameters.h"

namespace weir::trainer {

/// The tensor of theirs that corresponds to one of ours.
struct Gpt2Tensor {
  std::string name;             ///< "transformer.h.3.attn.c_attn.weight"
  std::vector<uint64_t> shape;  ///< [elements], or [rows, columns]
  bool transposed = false;      ///< whether its rows are our columns
};

/// REQUIRES: `tensor` is a whole one of the model's, not a slice.
Gpt2Tensor gpt2_tensor(const Tensor& tensor);

/// The names of theirs for the embedding and for the output layer, which may be one tensor.
inline constexpr const char* kGpt2Embedding = "transformer.wte.weight";
inline constexpr const char* kGpt2Head = "lm_head.weight";

/// A matrix [rows, columns] as [columns, rows].
std::vector<float> transposed(uint64_t rows, uint64_t columns, std::span<const float> matrix);

}  // namespace weir::trainer
