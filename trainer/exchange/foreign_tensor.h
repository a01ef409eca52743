// SPDX-License-Identifier: Apache-2.0
/// Where the tensors of this model are in a model of Hugging Face's: in GPT-2's form in its class
/// GPT2LMHeadModel, in Llama's in LlamaForCausalLM. Pure.
///
/// The architectures are the same: norms before attention and MLP and at the end, attention scaled by 1 /
/// sqrt(head size). GPT-2: layer norms (epsilon 1e-5), biases in every layer but the output layer, GELU in
/// its tanh form; queries, keys and values lie side by side, each ordered by head. Llama: RMS norms, the
/// elements i and i + size / 2 of a head are turned together, consecutive heads of queries share one of keys
/// and values. What differs is the layout of weights: GPT-2's are [inputs, outputs] in blocks and [outputs,
/// inputs] in the output layer, Llama's are [outputs, inputs].
/// Tests: tests/trainer/exchange_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/model/config.h"
#include "trainer/model/parameters.h"

namespace weir::trainer {

/// The tensor of theirs that corresponds to one of ours.
struct ForeignTensor {
  std::string name;             ///< "transformer.h.3.attn.c_attn.weight", "model.layers.3.mlp.up_proj.weight"
  std::vector<uint64_t> shape;  ///< [elements], or [rows, columns]
  bool transposed = false;      ///< whether its rows are our columns
};

/// REQUIRES: `tensor` is a whole one of a model of this form, not a slice.
ForeignTensor foreign_tensor(Form form, const Tensor& tensor);

/// What names of theirs begin with in a model that has an output layer, and do not in one without.
const char* foreign_prefix(Form form);
/// The names of theirs for the embedding and for the output layer, which may be one tensor.
const char* foreign_embedding(Form form);
inline constexpr const char* kForeignHead = "lm_head.weight";

/// A matrix [rows, columns] as [columns, rows].
std::vector<float> transposed(uint64_t rows, uint64_t columns, std::span<const float> matrix);

}  // namespace weir::trainer
