// SPDX-License-Identifier: Apache-2.0
/// Row kernels on the CPU: everything in a transformer except matrix products, forward and backward.
///
/// All arrays are dense and row-major; `rows` is the number of tokens. Gradients of parameters, and of inputs
/// that other paths also reach, are added to the existing values (named `..._sum`). No function allocates,
/// keeps state or checks anything; calls on distinct arrays may run concurrently. Sums have one fixed order
/// (lanes.h): same input, same bits.
#pragma once

#include <cstdint>

#include "trainer/math/row_calls.h"

namespace weir::trainer {

// --- layernorm.cc: (x - mean) / sqrt(variance + 1e-5) * gain + bias over each row. `statistics` holds the
// mean and the reciprocal standard deviation of each row: 2 * rows floats.
void layer_norm_forward(Index rows, Index width, const float* x, const float* gain, const float* bias,
                        float* out, float* statistics);
void layer_norm_backward(Index rows, Index width, const float* out_gradient, const float* x,
                         const float* gain, const float* statistics, float* x_gradient_sum,
                         float* gain_gradient_sum, float* bias_gradient_sum);

// --- rms_norm.cc: x / sqrt(mean of x^2 + epsilon) * gain over each row (Zhang and Sennrich, 2019).
// `statistics` are a layer norm's, 2 * rows floats, with means of 0.
void rms_norm_forward(Index rows, Index width, float epsilon, const float* x, const float* gain, float* out,
                      float* statistics);
void rms_norm_backward(Index rows, Index width, const float* out_gradient, const float* x, const float* gain,
                       const float* statistics, float* x_gradient_sum, float* gain_gradient_sum);

// --- swiglu.cc: out = SiLU(gate) * up with SiLU(x) = x / (1 + e^-x) (Shazeer, 2020).
void swiglu_forward(Index count, const float* gate, const float* up, float* out);
/// `gradient` is that of the output on entry and that of `up` on return.
void swiglu_backward(Index count, const float* gate, const float* up, float* gradient, float* gate_gradient);

// --- rotary.cc: rotary position embedding (Su et al., 2021) in Llama's form: the elements i and i + size / 2
// of a head are turned together, by position * base^(-2 i / size), or by scaled angles (rotary_scaling.h).
// REQUIRES: size is even.
/// Writes the size / 2 angles per position.
void rotary_frequencies(Index size, float base, const RotaryScaling& scaling, float* frequencies);
/// Turns all rows of [sequences, heads, length, size] in place; `back`: by the negative angles, which gives
/// gradients.
void rotate(const HeadShape& shape, const float* frequencies, bool back, float* heads);

// --- bias.cc
/// out[row] += bias + residual[row]
void add_bias_and_residual(Index rows, Index width, float* out, const float* bias, const float* residual);
void bias_backward(Index rows, Index width, const float* out_gradient, float* bias_gradient_sum);

/// x += bias, and out = GELU(x), the tanh form (Hendrycks and Gimpel, 2016).
void bias_gelu_forward(Index rows, Index width, float* x, const float* bias, float* out);
/// GELU alone, of an x that already includes its bias.
void gelu_forward(Index count, const float* x, float* out);
/// `gradient` is that of the output on entry and that of x on return.
void gelu_backward(Index count, const float* x, float* gradient);

// --- heads.cc: [sequences, length, heads * size] as [sequences, heads, length, size] and back.
/// Splits rows of adjacent query, key and value, with `bias` added, into three arrays ordered by head.
void split_queries_keys_values(const HeadShape& shape, const float* rows, const float* bias, float* queries,
                               float* keys, float* values);
void join_queries_keys_values(const HeadShape& shape, const float* queries, const float* keys,
                              const float* values, float* rows);
void split_heads(const HeadShape& shape, const float* rows, float* heads);
void join_heads(const HeadShape& shape, const float* heads, float* rows);

// --- softmax.cc
/// scores[matrix, i, j] with i < rows, j < columns becomes the softmax over start <= j <= first + i of scale
/// * scores[matrix, i, j], and 0 for other j; the start is that of position first + i. REQUIRES: columns >=
/// first + rows.
void causal_softmax_forward(const CausalSoftmaxForward& call);
/// `gradient` is that of the probabilities on entry and that of the scores on return (0 for those j).
void causal_softmax_backward(const CausalSoftmaxBackward& call);

/// losses[row] = -ln softmax(logits[row])[target[row]], in nats.
void cross_entropy_forward(Index rows, Index classes, const float* logits, const Token* targets,
                           float* losses);
/// Gradient of scale * (sum of the losses) with respect to the logits.
void cross_entropy_backward(Index rows, Index classes, float scale, const float* logits, const Token* targets,
                            float* logit_gradient);

// --- embedding.cc: out[row] = token_table[tokens[row]] + position_table[row % length]. Without a table of
// positions (null), and so without its gradient, only the first.
void embedding_forward(Index rows, Index length, Index width, const Token* tokens, const float* token_table,
                       const float* position_table, float* out);
void embedding_backward(Index rows, Index length, Index width, const Token* tokens, const float* out_gradient,
                        float* token_table_gradient_sum, float* position_table_gradient_sum);

// --- elements.cc
/// sum += addend
void add(Index count, const float* addend, float* sum);
/// values *= factor
void scale(Index count, float factor, float* values);
/// Rounds to bfloat16 (bfloat16.h).
void to_bfloat16(Index count, const float* from, uint16_t* to);
void from_bfloat16(Index count, const uint16_t* from, float* to);
/// sum += from
void add_bfloat16(Index count, const uint16_t* from, float* sum);
/// Rounds as to_bfloat16() does, but stores floats.
void round_to_bfloat16(Index count, const float* from, float* to);

/// sums[block] = the sum of the squares of kSquareBlock values; the last block may be shorter.
inline constexpr Index kSquareBlock = 1024;
void square_blocks(Index count, const float* values, float* sums);

void adamw_step(const AdamW& settings, Index count, float* parameters, const float* gradients, float* mean,
                float* variance);

}  // namespace weir::trainer
