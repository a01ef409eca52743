// SPDX-License-Identifier: Apache-2.0

#include <cstring>

#include "trainer/math/ops.h"
#include "trainer/math/rows.h"

namespace weir::trainer {
namespace {

void carry_out(const LayerNormForward& c) {
  layer_norm_forward(c.rows, c.width, c.x, c.gain, c.bias, c.out, c.statistics);
}
void carry_out(const LayerNormBackward& c) {
  layer_norm_backward(c.rows, c.width, c.out_gradient, c.x, c.gain, c.statistics, c.x_gradient_sum,
                      c.gain_gradient_sum, c.bias_gradient_sum);
}
void carry_out(const RmsNormForward& c) {
  rms_norm_forward(c.rows, c.width, c.epsilon, c.x, c.gain, c.out, c.statistics);
}
void carry_out(const RmsNormBackward& c) {
  rms_norm_backward(c.rows, c.width, c.out_gradient, c.x, c.gain, c.statistics, c.x_gradient_sum,
                    c.gain_gradient_sum);
}
void carry_out(const SwiGluForward& c) { swiglu_forward(c.count, c.gate, c.up, c.out); }
void carry_out(const SwiGluBackward& c) {
  swiglu_backward(c.count, c.gate, c.up, c.gradient, c.gate_gradient);
}
void carry_out(const RotaryFrequencies& c) { rotary_frequencies(c.size, c.base, c.scaling, c.frequencies); }
void carry_out(const Rotate& c) { rotate(c.shape, c.frequencies, c.back, c.heads); }
void carry_out(const AddBiasAndResidual& c) {
  add_bias_and_residual(c.rows, c.width, c.out, c.bias, c.residual);
}
void carry_out(const BiasBackward& c) { bias_backward(c.rows, c.width, c.out_gradient, c.bias_gradient_sum); }
void carry_out(const BiasGeluForward& c) { bias_gelu_forward(c.rows, c.width, c.x, c.bias, c.out); }
void carry_out(const GeluForward& c) { gelu_forward(c.count, c.x, c.out); }
void carry_out(const GeluBackward& c) { gelu_backward(c.count, c.x, c.gradient); }
void carry_out(const SplitQueriesKeysValues& c) {
  split_queries_keys_values(c.shape, c.rows, c.bias, c.queries, c.keys, c.values);
}
void carry_out(const JoinQueriesKeysValues& c) {
  join_queries_keys_values(c.shape, c.queries, c.keys, c.values, c.rows);
}
void carry_out(const SplitHeads& c) { split_heads(c.shape, c.rows, c.heads); }
void carry_out(const JoinHeads& c) { join_heads(c.shape, c.heads, c.rows); }
void carry_out(const CausalSoftmaxForward& c) { causal_softmax_forward(c); }
void carry_out(const CausalSoftmaxBackward& c) { causal_softmax_backward(c); }
void carry_out(const CrossEntropyForward& c) {
  cross_entropy_forward(c.rows, c.classes, c.logits, c.targets, c.losses);
}
void carry_out(const CrossEntropyBackward& c) {
  cross_entropy_backward(c.rows, c.classes, c.scale, c.logits, c.targets, c.logit_gradient);
}
void carry_out(const EmbeddingForward& c) {
  embedding_forward(c.rows, c.length, c.width, c.tokens, c.token_table, c.position_table, c.out);
}
void carry_out(const EmbeddingBackward& c) {
  embedding_backward(c.rows, c.length, c.width, c.tokens, c.out_gradient, c.token_table_gradient_sum,
                     c.position_table_gradient_sum);
}
void carry_out(const Add& c) { add(c.count, c.addend, c.sum); }
void carry_out(const Scale& c) { scale(c.count, c.factor, c.values); }
void carry_out(const ToBfloat16& c) { to_bfloat16(c.count, c.from, c.to); }
void carry_out(const FromBfloat16& c) { from_bfloat16(c.count, c.from, c.to); }
void carry_out(const AddBfloat16& c) { add_bfloat16(c.count, c.from, c.sum); }
void carry_out(const AdamWStep& c) {
  adamw_step(c.settings, c.count, c.parameters, c.gradients, c.mean, c.variance);
}
void carry_out(const SquareBlocks& c) { square_blocks(c.count, c.values, c.sums); }

}  // namespace

void CpuOps::run(const RowCall& call) {
  if (!status().ok()) return;
  std::visit([](const auto& one) { carry_out(one); }, call);
}

std::string CpuOps::description() const {
  return products_code() + (products_.precision() == Precision::bf16 ? ", bf16" : ", fp32") +
         (products_.native() ? "" : " rounded, computed in fp32");
}

void CpuOps::clear(Index count, float* array) {
  if (count > 0) std::memset(array, 0, static_cast<size_t>(count) * sizeof(float));
}

}  // namespace weir::trainer
