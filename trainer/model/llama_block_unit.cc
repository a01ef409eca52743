// SPDX-License-Identifier: Apache-2.0

#include "trainer/model/llama_block_unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace weir::trainer {
namespace {

// Slices have some outputs of the first layers of each half, and the inputs of the last one that these are
// for, as in BlockUnit.
ParameterTable llama_block_table(const Config& config, Index layer, uint32_t stream, Slice slice) {
  const float added = kInitialDeviation / std::sqrt(2.0f * static_cast<float>(config.layers));
  const Index width = config.width;
  const Index shared = config.key_value_heads * (width / config.heads);
  const std::string name = fmt::format("block{}.", layer);
  ParameterTable table(stream, slice);
  table.add_vector(name + "norm1.gain", width, 1.0f);
  table.add_rows(name + "query.weight", width, width, kInitialDeviation);
  table.add_rows(name + "key.weight", shared, width, kInitialDeviation);
  table.add_rows(name + "value.weight", shared, width, kInitialDeviation);
  table.add_rows(name + "mix.weight", width, width, added);
  table.add_vector(name + "norm2.gain", width, 1.0f);
  table.add_rows(name + "gate.weight", config.hidden, width, kInitialDeviation);
  table.add_rows(name + "up.weight", config.hidden, width, kInitialDeviation);
  table.add_rows(name + "down.weight", config.hidden, width, added);
  return table;
}

}  // namespace

// What backward reads besides the input. Stored in the saved array or in scratch, depending on recomputation.
struct LlamaBlockUnit::State {
  State(const AttentionShape& shape, Index width, Index hidden, Recompute recompute, Carver& saved,
        Carver& scratch) {
    Carver& cheap = recompute == Recompute::none ? saved : scratch;
    Carver& dear = recompute == Recompute::full ? scratch : saved;
    const Index rows = shape.sequences * shape.length;
    normal1 = cheap.take(rows * width);
    statistics1 = dear.take(2 * rows);
    queries = dear.take(shape.query_floats());
    keys = dear.take(shape.key_floats());
    values = dear.take(shape.key_floats());
    mixed = dear.take(shape.query_floats());
    middle = dear.take(rows * width);
    normal2 = cheap.take(rows * width);
    statistics2 = dear.take(2 * rows);
    gate = dear.take(rows * hidden);
    up = dear.take(rows * hidden);
    activated = cheap.take(rows * hidden);
  }

  float* normal1;      ///< RMS norm of the input
  float* statistics1;  ///< of that norm
  float* queries;      ///< ordered by head and turned, like keys
  float* keys;
  float* values;
  float* mixed;   ///< the heads' outputs, side by side again
  float* middle;  ///< the residual stream between attention and MLP
  float* normal2;
  float* statistics2;
  float* gate;
  float* up;
  float* activated;  ///< SiLU(gate) * up
};

LlamaBlockUnit::LlamaBlockUnit(const Config& config, Index layer, Recompute recompute, uint32_t stream,
                               Slice slice)
    : Unit(llama_block_table(config, layer, stream, slice), config.width, recompute),
      heads_(config.heads / slice.count),
      key_value_heads_(config.key_value_heads / slice.count),
      size_(config.width / config.heads),
      hidden_(config.hidden / slice.count),
      epsilon_(config.epsilon),
      rotary_base_(config.rotary_base),
      rotary_scaling_(config.rotary_scaling),
      at_(offsets_of(parameters())) {}

LlamaBlockUnit::Offsets LlamaBlockUnit::offsets_of(const ParameterTable& table) {
  const auto at = [&](size_t tensor) { return table.tensors()[tensor].offset; };
  return {at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8)};
}

AttentionShape LlamaBlockUnit::attention_shape(const Batch& piece) const {
  return {piece.sequences, piece.length, heads_, key_value_heads_, size_, piece.starts};
}

Unit::Sizes LlamaBlockUnit::sizes(const Batch& piece) const {
  Carver saved(nullptr);
  Carver scratch(nullptr);
  const AttentionShape shape = attention_shape(piece);
  State(shape, width(), hidden_, recompute(), saved, scratch);
  // The larger of the two halves' backward passes; forward needs less than attention's backward pass.
  Carver mlp = scratch;
  mlp.take(piece.rows() * hidden_);
  mlp.take(piece.rows() * hidden_);
  mlp.take(piece.rows() * width());
  scratch.take(size_ / 2);
  scratch.take(piece.rows() * width());
  scratch.take(shape.query_floats());
  scratch.take(shape.query_floats());
  scratch.take(shape.key_floats());
  scratch.take(shape.key_floats());
  scratch.take(causal_attention_scratch(shape));
  return {saved.used(), std::max(mlp.used(), scratch.used())};
}

void LlamaBlockUnit::normal(const Compute& compute, Index rows, const float* x, const float* gain,
                            float* normal, float* statistics) const {
  compute.ops.run(RmsNormForward{rows, width(), epsilon_, x, gain, normal, statistics});
}

void LlamaBlockUnit::attention_input(const Compute& compute, const Batch& piece, const float* parameters,
                                     const float* input, const State& state, Carver scratch) const {
  const Index rows = piece.rows();
  const AttentionShape shape = attention_shape(piece);
  normal(compute, rows, input, parameters + at_.norm1, state.normal1, state.statistics1);
  float* frequencies = scratch.take(size_ / 2);
  float* side_by_side = scratch.take(shape.query_floats());  // for each in turn
  compute.ops.run(RotaryFrequencies{size_, rotary_base_, rotary_scaling_, frequencies});
  project(compute, rows, query_layer(), state.normal1, parameters + at_.query, side_by_side);
  compute.ops.run(SplitHeads{shape.queries(), side_by_side, state.queries});
  compute.ops.run(Rotate{shape.queries(), frequencies, false, state.queries});
  project(compute, rows, key_layer(), state.normal1, parameters + at_.key, side_by_side);
  compute.ops.run(SplitHeads{shape.keys(), side_by_side, state.keys});
  compute.ops.run(Rotate{shape.keys(), frequencies, false, state.keys});
  project(compute, rows, key_layer(), state.normal1, parameters + at_.value, side_by_side);
  compute.ops.run(SplitHeads{shape.keys(), side_by_side, state.values});
}

void LlamaBlockUnit::attention_output(const Compute& compute, const Batch& piece, const float* parameters,
                                      const float* input, const State& state, Carver scratch) const {
  const AttentionShape shape = attention_shape(piece);
  const Index rows = piece.rows();
  float* by_head = scratch.take(shape.query_floats());
  causal_attention(compute.ops, shape, state.queries, state.keys, state.values, by_head, scratch);
  compute.ops.run(JoinHeads{shape.queries(), by_head, state.mixed});
  project(compute, rows, mix_layer(), state.mixed, parameters + at_.mix, state.middle);
  sum_over_slices(compute, rows * width(), state.middle);
  compute.ops.run(Add{rows * width(), input, state.middle});
}

void LlamaBlockUnit::mlp_input(const Compute& compute, const Batch& piece, const float* parameters,
                               const State& state) const {
  const Index rows = piece.rows();
  normal(compute, rows, state.middle, parameters + at_.norm2, state.normal2, state.statistics2);
  project(compute, rows, widen_layer(), state.normal2, parameters + at_.gate, state.gate);
  project(compute, rows, widen_layer(), state.normal2, parameters + at_.up, state.up);
  compute.ops.run(SwiGluForward{rows * hidden_, state.gate, state.up, state.activated});
}

void LlamaBlockUnit::forward_piece(const Compute& compute, const Batch& piece, const float* parameters,
                                   const float* input, float* output, float* saved) const {
  Carver kept(saved);
  Carver scratch(compute.scratch);
  const State state(attention_shape(piece), width(), hidden_, recompute(), kept, scratch);
  attention_input(compute, piece, parameters, input, state, scratch);
  attention_output(compute, piece, parameters, input, state, scratch);
  mlp_input(compute, piece, parameters, state);
  const Index floats = piece.rows() * width();
  project(compute, piece.rows(), down_layer(), state.activated, parameters + at_.down, output);
  sum_over_slices(compute, floats, output);
  compute.ops.run(Add{floats, state.middle, output});
}

// Recomputes what forward did not save.
void LlamaBlockUnit::restore(const Compute& compute, const Batch& piece, const float* parameters,
                             const float* input, const State& state, Carver scratch) const {
  const Index rows = piece.rows();
  if (recompute() == Recompute::full) {
    attention_input(compute, piece, parameters, input, state, scratch);
    attention_output(compute, piece, parameters, input, state, scratch);
    mlp_input(compute, piece, parameters, state);
  }
  if (recompute() == Recompute::selective) {
    normal(compute, rows, input, parameters + at_.norm1, state.normal1, state.statistics1);
    normal(compute, rows, state.middle, parameters + at_.norm2, state.normal2, state.statistics2);
    compute.ops.run(SwiGluForward{rows * hidden_, state.gate, state.up, state.activated});
  }
}

void LlamaBlockUnit::backward_piece(const Compute& compute, const Batch& piece, const float* parameters,
                                    const float* input, float* saved, float* gradient,
                                    float* parameter_gradients) const {
  Carver kept(saved);
  Carver scratch(compute.scratch);
  const State state(attention_shape(piece), width(), hidden_, recompute(), kept, scratch);
  restore(compute, piece, parameters, input, state, scratch);
  mlp_backward(compute, piece, parameters, state, scratch, gradient, parameter_gradients);
  attention_backward(compute, piece, parameters, input, state, scratch, gradient, parameter_gradients);
}

void LlamaBlockUnit::mlp_backward(const Compute& compute, const Batch& piece, const float* parameters,
                                  const State& state, Carver scratch, float* gradient, float* sums) const {
  const Index rows = piece.rows();
  float* up_gradient = scratch.take(rows * hidden_);  // at first that of the activated values
  float* gate_gradient = scratch.take(rows * hidden_);
  float* normal_gradient = scratch.take(rows * width());
  project_backward(compute, rows, down_layer(), state.activated, parameters + at_.down, gradient, up_gradient,
                   sums + at_.down);
  compute.ops.run(SwiGluBackward{rows * hidden_, state.gate, state.up, up_gradient, gate_gradient});
  project_backward(compute, rows, widen_layer(), state.normal2, parameters + at_.gate, gate_gradient,
                   normal_gradient, sums + at_.gate);
  project_backward(compute, rows, widen_layer(), state.normal2, parameters + at_.up, up_gradient,
                   normal_gradient, sums + at_.up, true);
  sum_over_slices(compute, rows * width(), normal_gradient);
  // `gradient` already contains the part that bypasses the half through the residual stream.
  compute.ops.run(RmsNormBackward{rows, width(), normal_gradient, state.middle, parameters + at_.norm2,
                                  state.statistics2, gradient, sums + at_.norm2});
}

void LlamaBlockUnit::attention_backward(const Compute& compute, const Batch& piece, const float* parameters,
                                        const float* input, const State& state, Carver scratch,
                                        float* gradient, float* sums) const {
  const Index rows = piece.rows();
  const AttentionShape shape = attention_shape(piece);
  float* frequencies = scratch.take(size_ / 2);
  float* normal_gradient = scratch.take(rows * width());     // at first that of the heads side by side
  float* side_by_side = scratch.take(shape.query_floats());  // at first the heads' gradient by head
  float* queries = scratch.take(shape.query_floats());
  float* keys = scratch.take(shape.key_floats());
  float* values = scratch.take(shape.key_floats());
  project_backward(compute, rows, mix_layer(), state.mixed, parameters + at_.mix, gradient, normal_gradient,
                   sums + at_.mix);
  compute.ops.run(SplitHeads{shape.queries(), normal_gradient, side_by_side});
  causal_attention_backward(compute.ops, shape, state.queries, state.keys, state.values, side_by_side,
                            {queries, keys, values}, scratch);
  compute.ops.run(RotaryFrequencies{size_, rotary_base_, rotary_scaling_, frequencies});
  compute.ops.run(Rotate{shape.queries(), frequencies, true, queries});
  compute.ops.run(Rotate{shape.keys(), frequencies, true, keys});
  compute.ops.run(JoinHeads{shape.queries(), queries, side_by_side});
  project_backward(compute, rows, query_layer(), state.normal1, parameters + at_.query, side_by_side,
                   normal_gradient, sums + at_.query);
  compute.ops.run(JoinHeads{shape.keys(), keys, side_by_side});
  project_backward(compute, rows, key_layer(), state.normal1, parameters + at_.key, side_by_side,
                   normal_gradient, sums + at_.key, true);
  compute.ops.run(JoinHeads{shape.keys(), values, side_by_side});
  project_backward(compute, rows, key_layer(), state.normal1, parameters + at_.value, side_by_side,
                   normal_gradient, sums + at_.value, true);
  sum_over_slices(compute, rows * width(), normal_gradient);
  compute.ops.run(RmsNormBackward{rows, width(), normal_gradient, input, parameters + at_.norm1,
                                  state.statistics1, gradient, sums + at_.norm1});
}

}  // namespace weir::trainer
