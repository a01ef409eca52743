// SPDX-License-Identifier: Apache-2.0
/// Calls of row kernels as values: the arguments of Ops (ops.h) and of a GPU's kernel. Names and fields are
/// those of the functions of rows.h, where each is described.
#pragma once

#include <cstdint>
#include <variant>

#include "trainer/math/lanes.h"
#include "trainer/math/rotary_scaling.h"

namespace weir::trainer {

/// The number of a symbol of the vocabulary.
using Token = uint32_t;

/// Rearranges rows by head and back, see rows.h.
struct HeadShape {
  Index sequences;
  Index length;
  Index heads;
  Index size;  ///< floats per head and row
};

/// One step of AdamW (Loshchilov and Hutter, 2019) on `count` elements.
struct AdamW {
  float learning_rate;
  float beta1;
  float beta2;
  float epsilon;
  float weight_decay;    ///< 0 for tensors without weight decay
  float gradient_scale;  ///< factor applied to gradients first (clipping)
  int64_t step;          ///< step number, from 1
};

struct LayerNormForward {
  Index rows, width;
  const float *x, *gain, *bias;
  float *out, *statistics;
};
struct LayerNormBackward {
  Index rows, width;
  const float *out_gradient, *x, *gain, *statistics;
  float *x_gradient_sum, *gain_gradient_sum, *bias_gradient_sum;
};
struct RmsNormForward {
  Index rows, width;
  float epsilon;
  const float *x, *gain;
  float *out, *statistics;
};
struct RmsNormBackward {
  Index rows, width;
  const float *out_gradient, *x, *gain, *statistics;
  float *x_gradient_sum, *gain_gradient_sum;
};
struct AddBiasAndResidual {
  Index rows, width;
  float* out;
  const float *bias, *residual;
};
struct BiasBackward {
  Index rows, width;
  const float* out_gradient;
  float* bias_gradient_sum;
};
struct BiasGeluForward {
  Index rows, width;
  float* x;
  const float* bias;
  float* out;
};
struct GeluForward {
  Index count;
  const float* x;
  float* out;
};
struct GeluBackward {
  Index count;
  const float* x;
  float* gradient;
};
struct SwiGluForward {
  Index count;
  const float *gate, *up;
  float* out;
};
struct SwiGluBackward {
  Index count;
  const float *gate, *up;
  float *gradient, *gate_gradient;
};
struct RotaryFrequencies {
  Index size;
  float base;
  RotaryScaling scaling;
  float* frequencies;
};
struct Rotate {
  HeadShape shape;
  const float* frequencies;
  bool back;
  float* heads;
};
struct SplitQueriesKeysValues {
  HeadShape shape;
  const float *rows, *bias;
  float *queries, *keys, *values;
};
struct JoinQueriesKeysValues {
  HeadShape shape;
  const float *queries, *keys, *values;
  float* rows;
};
struct SplitHeads {
  HeadShape shape;
  const float* rows;
  float* heads;
};
struct JoinHeads {
  HeadShape shape;
  const float* heads;
  float* rows;
};
/// Where a row of attention's scores begins: `starts` are [sequences, length], the position of the first
/// token that each token sees; null: all see the first one. A sequence has `matrices` squares.
struct SeenFrom {
  Index matrices;
  Index length;
  const Token* starts;
};
struct CausalSoftmaxForward {
  Index matrices, rows, columns, first;
  SeenFrom from;
  float scale;
  float* scores;
};
struct CausalSoftmaxBackward {
  Index matrices, rows, columns, first;
  SeenFrom from;
  float scale;
  const float* probabilities;
  float* gradient;
};
struct CrossEntropyForward {
  Index rows, classes;
  const float* logits;
  const Token* targets;
  float* losses;
};
struct CrossEntropyBackward {
  Index rows, classes;
  float scale;
  const float* logits;
  const Token* targets;
  float* logit_gradient;
};
struct EmbeddingForward {
  Index rows, length, width;
  const Token* tokens;
  const float *token_table, *position_table;
  float* out;
};
struct EmbeddingBackward {
  Index rows, length, width;
  const Token* tokens;
  const float* out_gradient;
  float *token_table_gradient_sum, *position_table_gradient_sum;
};
struct Add {
  Index count;
  const float* addend;
  float* sum;
};
struct Scale {
  Index count;
  float factor;
  float* values;
};
struct ToBfloat16 {
  Index count;
  const float* from;
  uint16_t* to;
};
struct FromBfloat16 {
  Index count;
  const uint16_t* from;
  float* to;
};
struct AddBfloat16 {
  Index count;
  const uint16_t* from;
  float* sum;
};
struct AdamWStep {
  AdamW settings;
  Index count;
  float* parameters;
  const float* gradients;
  float *mean, *variance;
};
/// sums[block] = the sum of the squares of 1024 values; the last block may be shorter.
struct SquareBlocks {
  Index count;
  const float* values;
  float* sums;
};

using RowCall =
    std::variant<LayerNormForward, LayerNormBackward, AddBiasAndResidual, BiasBackward, BiasGeluForward,
                 GeluForward, GeluBackward, SplitQueriesKeysValues, JoinQueriesKeysValues, SplitHeads,
                 JoinHeads, CausalSoftmaxForward, CausalSoftmaxBackward, CrossEntropyForward,
                 CrossEntropyBackward, EmbeddingForward, EmbeddingBackward, Add, Scale, ToBfloat16,
                 FromBfloat16, AddBfloat16, AdamWStep, SquareBlocks, RmsNormForward, RmsNormBackward,
                 SwiGluForward, SwiGluBackward, RotaryFrequencies, Rotate>;

/// A visitor with one function per alternative: std::visit(Each{[](const Add& call) {...}, ...}, call).
template <typename... Visitors>
struct Each : Visitors... {
  using Visitors::operator()...;
};
template <typename... Visitors>
Each(Visitors...) -> Each<Visitors...>;

}  // namespace weir::trainer
