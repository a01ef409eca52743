// SPDX-License-Identifier: Apache-2.0

#include "trainer/model/block_unit.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace weir::trainer {
namespace {

// Weights that add to the residual stream start smaller the more layers there are, as in GPT-2.
// First weights of which a slice has some outputs, then weights of which it has some inputs: slices are
// summed only after the latter (Shoeybi et al., 2019).
ParameterTable block_table(const Config& config, Index layer, uint32_t stream, Slice slice) {
  const float added = kInitialDeviation / std::sqrt(2.0f * static_cast<float>(config.layers));
  const Index width = config.width;
  const std::string name = fmt::format("block{}.", layer);
  ParameterTable table(stream, slice);
  table.add_vector(name + "norm1.gain", width, 1.0f);
  table.add_vector(name + "norm1.bias", width, 0.0f);
  table.add_rows(name + "attention.weight", 3 * width, width, kInitialDeviation, 3);
  table.add_elements(name + "attention.bias", 3 * width, 0.0f, 3);
  table.add_rows(name + "mix.weight", width, width, added);
  table.add_vector(name + "mix.bias", width, 0.0f);
  table.add_vector(name + "norm2.gain", width, 1.0f);
  table.add_vector(name + "norm2.bias", width, 0.0f);
  table.add_rows(name + "widen.weight", 4 * width, width, kInitialDeviation);
  table.add_elements(name + "widen.bias", 4 * width, 0.0f);
  table.add_rows(name + "narrow.weight", 4 * width, width, added);
  table.add_vector(name + "narrow.bias", width, 0.0f);
  return table;
}

}  // namespace

// What backward reads besides the input. Stored in the saved array or in scratch, depending on recomputation.
struct BlockUnit::State {
  State(const AttentionShape& shape, Index width, Recompute recompute, Carver& saved, Carver& scratch) {
    Carver& cheap = recompute == Recompute::none ? saved : scratch;
    Carver& dear = recompute == Recompute::full ? scratch : saved;
    const Index rows = shape.sequences * shape.length;
    const Index whole = rows * width;
    const Index floats = shape.query_floats();
    normal1 = cheap.take(whole);
    statistics1 = dear.take(2 * rows);
    queries = dear.take(floats);
    keys = dear.take(floats);
    values = dear.take(floats);
    mixed = dear.take(floats);
    middle = dear.take(whole);
    normal2 = cheap.take(whole);
    statistics2 = dear.take(2 * rows);
    widened = dear.take(4 * floats);
    activated = cheap.take(4 * floats);
  }

  float* normal1;      ///< layer norm of the input
  float* statistics1;  ///< means and standard deviations of that layer norm
  float* queries;      ///< ordered by head, like keys and values
  float* keys;
  float* values;
  float* mixed;   ///< the heads' outputs, side by side again
  float* middle;  ///< the residual stream between attention and MLP
  float* normal2;
  float* statistics2;
  float* widened;    ///< input of GELU, with its bias added
  float* activated;  ///< output of GELU
};

BlockUnit::BlockUnit(const Config& config, Index layer, Recompute recompute, uint32_t stream, Slice slice)
    : Unit(block_table(config, layer, stream, slice), config.width, recompute),
      heads_(config.heads / slice.count),
      inner_(config.width / slice.count),
      at_(offsets_of(parameters())) {}

BlockUnit::Offsets BlockUnit::offsets_of(const ParameterTable& table) {
  const auto at = [&](size_t tensor) { return table.tensors()[tensor].offset; };
  return {at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8), at(9), at(10), at(11)};
}

AttentionShape BlockUnit::attention_shape(const Batch& piece) const {
  return {piece.sequences, piece.length, heads_, heads_, inner_ / heads_, piece.starts};
}

Unit::Sizes BlockUnit::sizes(const Batch& piece) const {
  Carver saved(nullptr);
  Carver scratch(nullptr);
  const AttentionShape shape = attention_shape(piece);
  State(shape, width(), recompute(), saved, scratch);
  const Index whole = piece.rows() * width();
  const Index floats = piece.rows() * inner_;
  // The larger of the two halves' backward passes; forward needs less than attention's backward pass.
  Carver mlp = scratch;
  mlp.take(4 * floats);
  mlp.take(whole);
  scratch.take(whole);
  scratch.take(3 * floats);
  scratch.take(floats);
  for (int part = 0; part < 3; ++part) scratch.take(floats);
  scratch.take(causal_attention_scratch(shape));
  return {saved.used(), std::max(mlp.used(), scratch.used())};
}

void BlockUnit::attention_input(const Compute& compute, const Batch& piece, const float* parameters,
                                const float* input, const State& state, Carver scratch) const {
  const Index rows = piece.rows();
  compute.ops.run(LayerNormForward{rows, width(), input, parameters + at_.norm1_gain,
                                   parameters + at_.norm1_bias, state.normal1, state.statistics1});
  float* all_three = scratch.take(3 * rows * inner_);
  project(compute, rows, attention_layer(), state.normal1, parameters + at_.attention_weights, all_three);
  compute.ops.run(SplitQueriesKeysValues{attention_shape(piece).queries(), all_three,
                                         parameters + at_.attention_bias, state.queries, state.keys,
                                         state.values});
}

void BlockUnit::attention_output(const Compute& compute, const Batch& piece, const float* parameters,
                                 const float* input, const State& state, Carver scratch) const {
  const AttentionShape shape = attention_shape(piece);
  const Index rows = piece.rows();
  float* by_head = scratch.take(rows * inner_);
  causal_attention(compute.ops, shape, state.queries, state.keys, state.values, by_head, scratch);
  compute.ops.run(JoinHeads{shape.queries(), by_head, state.mixed});
  project(compute, rows, mix_layer(), state.mixed, parameters + at_.mix_weights, state.middle);
  sum_over_slices(compute, rows * width(), state.middle);
  compute.ops.run(AddBiasAndResidual{rows, width(), state.middle, parameters + at_.mix_bias, input});
}

void BlockUnit::mlp_input(const Compute& compute, const Batch& piece, const float* parameters,
                          const State& state) const {
  const Index rows = piece.rows();
  compute.ops.run(LayerNormForward{rows, width(), state.middle, parameters + at_.norm2_gain,
                                   parameters + at_.norm2_bias, state.normal2, state.statistics2});
  project(compute, rows, widen_layer(), state.normal2, parameters + at_.widen_weights, state.widened);
  compute.ops.run(
      BiasGeluForward{rows, 4 * inner_, state.widened, parameters + at_.widen_bias, state.activated});
}

void BlockUnit::forward_piece(const Compute& compute, const Batch& piece, const float* parameters,
                              const float* input, float* output, float* saved) const {
  Carver kept(saved);
  Carver scratch(compute.scratch);
  const State state(attention_shape(piece), width(), recompute(), kept, scratch);
  attention_input(compute, piece, parameters, input, state, scratch);
  attention_output(compute, piece, parameters, input, state, scratch);
  mlp_input(compute, piece, parameters, state);
  project(compute, piece.rows(), narrow_layer(), state.activated, parameters + at_.narrow_weights, output);
  sum_over_slices(compute, piece.rows() * width(), output);
  compute.ops.run(
      AddBiasAndResidual{piece.rows(), width(), output, parameters + at_.narrow_bias, state.middle});
}

// Recomputes what forward did not save.
void BlockUnit::restore(const Compute& compute, const Batch& piece, const float* parameters,
                        const float* input, const State& state, Carver scratch) const {
  const Index rows = piece.rows();
  if (recompute() == Recompute::full) {
    attention_input(compute, piece, parameters, input, state, scratch);
    attention_output(compute, piece, parameters, input, state, scratch);
    mlp_input(compute, piece, parameters, state);
  }
  if (recompute() == Recompute::selective) {
    compute.ops.run(LayerNormForward{rows, width(), input, parameters + at_.norm1_gain,
                                     parameters + at_.norm1_bias, state.normal1, state.statistics1});
    compute.ops.run(LayerNormForward{rows, width(), state.middle, parameters + at_.norm2_gain,
                                     parameters + at_.norm2_bias, state.normal2, state.statistics2});
    compute.ops.run(GeluForward{rows * 4 * inner_, state.widened, state.activated});
  }
}

void BlockUnit::backward_piece(const Compute& compute, const Batch& piece, const float* parameters,
                               const float* input, float* saved, float* gradient,
                               float* parameter_gradients) const {
  Carver kept(saved);
  Carver scratch(compute.scratch);
  const State state(attention_shape(piece), width(), recompute(), kept, scratch);
  restore(compute, piece, parameters, input, state, scratch);
  mlp_backward(compute, piece, parameters, state, scratch, gradient, parameter_gradients);
  attention_backward(compute, piece, parameters, input, state, scratch, gradient, parameter_gradients);
}

void BlockUnit::mlp_backward(const Compute& compute, const Batch& piece, const float* parameters,
                             const State& state, Carver scratch, float* gradient, float* sums) const {
  const Index rows = piece.rows();
  float* widened_gradient = scratch.take(4 * rows * inner_);
  float* normal_gradient = scratch.take(rows * width());
  compute.ops.run(BiasBackward{rows, width(), gradient, sums + at_.narrow_bias});
  project_backward(compute, rows, narrow_layer(), state.activated, parameters + at_.narrow_weights, gradient,
                   widened_gradient, sums + at_.narrow_weights);
  compute.ops.run(GeluBackward{rows * 4 * inner_, state.widened, widened_gradient});
  compute.ops.run(BiasBackward{rows, 4 * inner_, widened_gradient, sums + at_.widen_bias});
  project_backward(compute, rows, widen_layer(), state.normal2, parameters + at_.widen_weights,
                   widened_gradient, normal_gradient, sums + at_.widen_weights);
  sum_over_slices(compute, rows * width(), normal_gradient);
  // `gradient` already contains the part that bypasses the half through the residual stream.
  compute.ops.run(LayerNormBackward{rows, width(), normal_gradient, state.middle, parameters + at_.norm2_gain,
                                    state.statistics2, gradient, sums + at_.norm2_gain,
                                    sums + at_.norm2_bias});
}

void BlockUnit::attention_backward(const Compute& compute, const Batch& piece, const float* parameters,
                                   const float* input, const State& state, Carver scratch, float* gradient,
                                   float* sums) const {
  const Index rows = piece.rows();
  float* mixed_gradient = scratch.take(rows * width());  // later the gradient of the norm, which is wider
  float* rows_gradient = scratch.take(3 * rows * inner_);
  compute.ops.run(BiasBackward{rows, width(), gradient, sums + at_.mix_bias});
  project_backward(compute, rows, mix_layer(), state.mixed, parameters + at_.mix_weights, gradient,
                   mixed_gradient, sums + at_.mix_weights);
  heads_backward(compute, piece, state, scratch, mixed_gradient, rows_gradient);
  compute.ops.run(BiasBackward{rows, 3 * inner_, rows_gradient, sums + at_.attention_bias});
  float* normal_gradient = mixed_gradient;  // mixed_gradient is no longer needed
  project_backward(compute, rows, attention_layer(), state.normal1, parameters + at_.attention_weights,
                   rows_gradient, normal_gradient, sums + at_.attention_weights);
  sum_over_slices(compute, rows * width(), normal_gradient);
  compute.ops.run(LayerNormBackward{rows, width(), normal_gradient, input, parameters + at_.norm1_gain,
                                    state.statistics1, gradient, sums + at_.norm1_gain,
                                    sums + at_.norm1_bias});
}

void BlockUnit::heads_backward(const Compute& compute, const Batch& piece, const State& state, Carver scratch,
                               const float* mixed_gradient, float* rows_gradient) const {
  const AttentionShape shape = attention_shape(piece);
  const Index floats = piece.rows() * inner_;
  float* by_head = scratch.take(floats);
  float* queries = scratch.take(floats);
  float* keys = scratch.take(floats);
  float* values = scratch.take(floats);
  compute.ops.run(SplitHeads{shape.queries(), mixed_gradient, by_head});
  causal_attention_backward(compute.ops, shape, state.queries, state.keys, state.values, by_head,
                            {queries, keys, values}, scratch);
  compute.ops.run(JoinQueriesKeysValues{shape.queries(), queries, keys, values, rows_gradient});
}

}  // namespace weir::trainer
