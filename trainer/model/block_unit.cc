#include "trainer/model/block_unit.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "trainer/math/rows.h"

namespace weir::trainer {
namespace {

// As GPT-2: what is added to the residual stream begins smaller the more layers add to it.
ParameterTable make_table(const Config& config, Index layer, uint32_t stream) {
  const float deviation = 0.02f;
  const float added = deviation / std::sqrt(2.0f * static_cast<float>(config.layers));
  const Index width = config.width;
  const std::string name = fmt::format("block{}.", layer);
  ParameterTable table(stream);
  table.add_vector(name + "norm1.gain", width, 1.0f);
  table.add_vector(name + "norm1.bias", width, 0.0f);
  table.add_matrix(name + "attention.weight", width, 3 * width, deviation);
  table.add_vector(name + "attention.bias", 3 * width, 0.0f);
  table.add_matrix(name + "mix.weight", width, width, added);
  table.add_vector(name + "mix.bias", width, 0.0f);
  table.add_vector(name + "norm2.gain", width, 1.0f);
  table.add_vector(name + "norm2.bias", width, 0.0f);
  table.add_matrix(name + "widen.weight", width, 4 * width, deviation);
  table.add_vector(name + "widen.bias", 4 * width, 0.0f);
  table.add_matrix(name + "narrow.weight", 4 * width, width, added);
  table.add_vector(name + "narrow.bias", width, 0.0f);
  return table;
}

}  // namespace

// What backward reads beside the input. In the saved array or in scratch, as recomputation says.
struct BlockUnit::State {
  State(const HeadShape& shape, Recompute recompute, Carver& saved, Carver& scratch) {
    Carver& cheap = recompute == Recompute::none ? saved : scratch;
    Carver& dear = recompute == Recompute::full ? scratch : saved;
    const Index rows = shape.sequences * shape.length;
    const Index floats = rows * shape.heads * shape.size;
    normal1 = cheap.take(floats);
    statistics1 = dear.take(2 * rows);
    queries = dear.take(floats);
    keys = dear.take(floats);
    values = dear.take(floats);
    probabilities = cheap.take(rows * shape.heads * shape.length);
    mixed = dear.take(floats);
    middle = dear.take(floats);
    normal2 = cheap.take(floats);
    statistics2 = dear.take(2 * rows);
    widened = dear.take(4 * floats);
    activated = cheap.take(4 * floats);
  }

  float* normal1;      ///< layer norm of the input
  float* statistics1;  ///< its means and deviations
  float* queries;      ///< by head, as keys and values
  float* keys;
  float* values;
  float* probabilities;  ///< [sequences, heads, length, length]
  float* mixed;          ///< what the heads read, side by side again
  float* middle;         ///< the residual stream between the halves
  float* normal2;
  float* statistics2;
  float* widened;    ///< before GELU, with its bias
  float* activated;  ///< after GELU
};

BlockUnit::BlockUnit(const Config& config, Index layer, Recompute recompute, uint32_t stream)
    : Unit(make_table(config, layer, stream), config.width, recompute),
      heads_(config.heads),
      at_(offsets_of(parameters())) {}

BlockUnit::Offsets BlockUnit::offsets_of(const ParameterTable& table) {
  const auto at = [&](size_t tensor) { return table.tensors()[tensor].offset; };
  return {at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8), at(9), at(10), at(11)};
}

HeadShape BlockUnit::head_shape(const Batch& piece) const {
  return {piece.sequences, piece.length, heads_, width() / heads_};
}

Unit::Sizes BlockUnit::sizes(const Batch& piece) const {
  Carver saved(nullptr);
  Carver scratch(nullptr);
  const HeadShape shape = head_shape(piece);
  State(shape, recompute(), saved, scratch);
  const Index floats = piece.rows() * width();
  const Index squares = piece.rows() * heads_ * piece.length;
  // The larger of the halves' backward passes; forward needs less than attention's.
  Carver mlp = scratch;
  mlp.take(4 * floats);
  mlp.take(floats);
  scratch.take(floats);
  scratch.take(3 * floats);
  scratch.take(floats);
  scratch.take(squares);
  for (int part = 0; part < 3; ++part) scratch.take(floats);
  return {saved.used(), std::max(mlp.used(), scratch.used())};
}

void BlockUnit::attention_input(const Compute& compute, const Batch& piece, const float* parameters,
                                const float* input, const State& state, Carver scratch) const {
  const Index rows = piece.rows();
  layer_norm_forward(rows, width(), input, parameters + at_.norm1_gain, parameters + at_.norm1_bias,
                     state.normal1, state.statistics1);
  float* all_three = scratch.take(3 * rows * width());
  project(compute, rows, width(), 3 * width(), state.normal1, parameters + at_.attention_weights, all_three);
  split_queries_keys_values(head_shape(piece), all_three, parameters + at_.attention_bias, state.queries,
                            state.keys, state.values);
}

void BlockUnit::probabilities(const Compute& compute, const Batch& piece, const State& state) const {
  const HeadShape shape = head_shape(piece);
  const Index matrices = shape.sequences * shape.heads;
  compute.products.run({.count = matrices,
                        .rows = shape.length,
                        .depth = shape.size,
                        .columns = shape.length,
                        .transpose_b = true},
                       state.queries, state.keys, state.probabilities);
  causal_softmax_forward(matrices, shape.length, 1.0f / std::sqrt(static_cast<float>(shape.size)),
                         state.probabilities);
}

void BlockUnit::attention_output(const Compute& compute, const Batch& piece, const float* parameters,
                                 const float* input, const State& state, Carver scratch) const {
  const HeadShape shape = head_shape(piece);
  const Index rows = piece.rows();
  float* by_head = scratch.take(rows * width());
  compute.products.run({.count = shape.sequences * shape.heads,
                        .rows = shape.length,
                        .depth = shape.length,
                        .columns = shape.size},
                       state.probabilities, state.values, by_head);
  join_heads(shape, by_head, state.mixed);
  project(compute, rows, width(), width(), state.mixed, parameters + at_.mix_weights, state.middle);
  add_bias_and_residual(rows, width(), state.middle, parameters + at_.mix_bias, input);
}

void BlockUnit::mlp_input(const Compute& compute, const Batch& piece, const float* parameters,
                          const State& state) const {
  const Index rows = piece.rows();
  layer_norm_forward(rows, width(), state.middle, parameters + at_.norm2_gain, parameters + at_.norm2_bias,
                     state.normal2, state.statistics2);
  project(compute, rows, width(), 4 * width(), state.normal2, parameters + at_.widen_weights, state.widened);
  bias_gelu_forward(rows, 4 * width(), state.widened, parameters + at_.widen_bias, state.activated);
}

void BlockUnit::forward_piece(const Compute& compute, const Batch& piece, const float* parameters,
                              const float* input, float* output, float* saved) const {
  Carver kept(saved);
  Carver scratch(compute.scratch);
  const State state(head_shape(piece), recompute(), kept, scratch);
  attention_input(compute, piece, parameters, input, state, scratch);
  probabilities(compute, piece, state);
  attention_output(compute, piece, parameters, input, state, scratch);
  mlp_input(compute, piece, parameters, state);
  project(compute, piece.rows(), 4 * width(), width(), state.activated, parameters + at_.narrow_weights,
          output);
  add_bias_and_residual(piece.rows(), width(), output, parameters + at_.narrow_bias, state.middle);
}

// Computes again what forward did not save.
void BlockUnit::restore(const Compute& compute, const Batch& piece, const float* parameters,
                        const float* input, const State& state, Carver scratch) const {
  const Index rows = piece.rows();
  if (recompute() == Recompute::full) {
    attention_input(compute, piece, parameters, input, state, scratch);
    probabilities(compute, piece, state);
    attention_output(compute, piece, parameters, input, state, scratch);
    mlp_input(compute, piece, parameters, state);
  }
  if (recompute() == Recompute::selective) {
    layer_norm_forward(rows, width(), input, parameters + at_.norm1_gain, parameters + at_.norm1_bias,
                       state.normal1, state.statistics1);
    probabilities(compute, piece, state);
    layer_norm_forward(rows, width(), state.middle, parameters + at_.norm2_gain, parameters + at_.norm2_bias,
                       state.normal2, state.statistics2);
    gelu_forward(rows * 4 * width(), state.widened, state.activated);
  }
}

void BlockUnit::backward_piece(const Compute& compute, const Batch& piece, const float* parameters,
                               const float* input, float* saved, float* gradient,
                               float* parameter_gradients) const {
  Carver kept(saved);
  Carver scratch(compute.scratch);
  const State state(head_shape(piece), recompute(), kept, scratch);
  restore(compute, piece, parameters, input, state, scratch);
  mlp_backward(compute, piece, parameters, state, scratch, gradient, parameter_gradients);
  attention_backward(compute, piece, parameters, input, state, scratch, gradient, parameter_gradients);
}

void BlockUnit::mlp_backward(const Compute& compute, const Batch& piece, const float* parameters,
                             const State& state, Carver scratch, float* gradient, float* sums) const {
  const Index rows = piece.rows();
  float* widened_gradient = scratch.take(4 * rows * width());
  float* normal_gradient = scratch.take(rows * width());
  bias_backward(rows, width(), gradient, sums + at_.narrow_bias);
  project_backward(compute, rows, 4 * width(), width(), state.activated, parameters + at_.narrow_weights,
                   gradient, widened_gradient, sums + at_.narrow_weights);
  gelu_backward(rows * 4 * width(), state.widened, widened_gradient);
  bias_backward(rows, 4 * width(), widened_gradient, sums + at_.widen_bias);
  project_backward(compute, rows, width(), 4 * width(), state.normal2, parameters + at_.widen_weights,
                   widened_gradient, normal_gradient, sums + at_.widen_weights);
  // What came past the half is in `gradient` already.
  layer_norm_backward(rows, width(), normal_gradient, state.middle, parameters + at_.norm2_gain,
                      state.statistics2, gradient, sums + at_.norm2_gain, sums + at_.norm2_bias);
}

void BlockUnit::attention_backward(const Compute& compute, const Batch& piece, const float* parameters,
                                   const float* input, const State& state, Carver scratch, float* gradient,
                                   float* sums) const {
  const Index rows = piece.rows();
  float* mixed_gradient = scratch.take(rows * width());
  float* rows_gradient = scratch.take(3 * rows * width());
  bias_backward(rows, width(), gradient, sums + at_.mix_bias);
  project_backward(compute, rows, width(), width(), state.mixed, parameters + at_.mix_weights, gradient,
                   mixed_gradient, sums + at_.mix_weights);
  heads_backward(compute, piece, state, scratch, mixed_gradient, rows_gradient);
  bias_backward(rows, 3 * width(), rows_gradient, sums + at_.attention_bias);
  float* normal_gradient = mixed_gradient;  // which nobody reads any more
  project_backward(compute, rows, width(), 3 * width(), state.normal1, parameters + at_.attention_weights,
                   rows_gradient, normal_gradient, sums + at_.attention_weights);
  layer_norm_backward(rows, width(), normal_gradient, input, parameters + at_.norm1_gain, state.statistics1,
                      gradient, sums + at_.norm1_gain, sums + at_.norm1_bias);
}

void BlockUnit::heads_backward(const Compute& compute, const Batch& piece, const State& state, Carver scratch,
                               const float* mixed_gradient, float* rows_gradient) const {
  const HeadShape shape = head_shape(piece);
  const Index matrices = shape.sequences * shape.heads;
  const Index floats = piece.rows() * width();
  float* by_head = scratch.take(floats);
  float* scores = scratch.take(matrices * shape.length * shape.length);
  float* queries = scratch.take(floats);
  float* keys = scratch.take(floats);
  float* values = scratch.take(floats);
  const ProductShape to_scores{.count = matrices,
                               .rows = shape.length,
                               .depth = shape.size,
                               .columns = shape.length,
                               .transpose_b = true};
  const ProductShape to_heads{
      .count = matrices, .rows = shape.length, .depth = shape.length, .columns = shape.size};
  ProductShape transposed_to_heads = to_heads;
  transposed_to_heads.transpose_a = true;

  split_heads(shape, mixed_gradient, by_head);
  compute.products.run(transposed_to_heads, state.probabilities, by_head, values);
  compute.products.run(to_scores, by_head, state.values, scores);
  causal_softmax_backward(matrices, shape.length, 1.0f / std::sqrt(static_cast<float>(shape.size)),
                          state.probabilities, scores);
  compute.products.run(to_heads, scores, state.keys, queries);
  compute.products.run(transposed_to_heads, scores, state.queries, keys);
  join_queries_keys_values(shape, queries, keys, values, rows_gradient);
}

}  // namespace weir::trainer
