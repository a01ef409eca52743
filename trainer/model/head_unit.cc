// SPDX-License-Identifier: Apache-2.0

#include "trainer/model/head_unit.h"

#include "trainer/model/carver.h"

namespace weir::trainer {
namespace {

// Every slice has the whole unit.
ParameterTable head_table(const Config& config, uint32_t stream, Slice slice) {
  ParameterTable table(stream, slice);
  table.add_vector("head.norm.gain", config.width, 1.0f);
  if (config.form == Form::gpt2) table.add_vector("head.norm.bias", config.width, 0.0f);
  if (!config.tied) table.add_matrix("head.weight", config.width, config.vocabulary, kInitialDeviation);
  return table;
}

}  // namespace

struct HeadUnit::State {
  float* normal;
  float* statistics;
  float* logits;
};

HeadUnit::State HeadUnit::state_of(const Batch& piece, Carver& saved, Carver& scratch) const {
  if (tied_) return {piece.tied.normal, saved.take(2 * piece.rows()), piece.tied.logits};
  Carver& from = recompute() != Recompute::full ? saved : scratch;
  State state{};
  state.normal = from.take(piece.rows() * width());
  state.statistics = from.take(2 * piece.rows());
  state.logits = from.take(piece.rows() * vocabulary_);
  return state;
}

HeadUnit::HeadUnit(const Config& config, Recompute recompute, uint32_t stream, Slice slice)
    : Unit(head_table(config, stream, slice), config.width, recompute),
      vocabulary_(config.vocabulary),
      form_(config.form),
      tied_(config.tied),
      epsilon_(config.epsilon),
      gain_(parameters().tensors()[0].offset),
      bias_(config.form == Form::gpt2 ? parameters().tensors()[1].offset : 0),
      weights_(parameters().tensors().back().offset) {}

Unit::Sizes HeadUnit::sizes(const Batch& piece) const {
  Carver saved(nullptr);
  Carver scratch(nullptr);
  state_of(piece, saved, scratch);
  scratch.take(piece.rows() * (tied_ ? 2 : vocabulary_));  // gradient of the logits, or logits()'s statistics
  scratch.take(piece.rows() * width());
  return {saved.used(), scratch.used()};
}

void HeadUnit::logits(const Compute& compute, const Batch& batch, const float* parameters, const float* input,
                      float* logits) const {
  Carver scratch(compute.scratch);
  State state{};
  state.normal = scratch.take(batch.rows() * width());
  state.statistics = scratch.take(2 * batch.rows());
  state.logits = logits;
  compute_logits(compute, batch, parameters, input, state);
}

const float* HeadUnit::weights_of(const Batch& piece, const float* parameters) const {
  return tied_ ? piece.tied.table : parameters + weights_;
}

void HeadUnit::compute_logits(const Compute& compute, const Batch& piece, const float* parameters,
                              const float* input, const State& state) const {
  if (form_ == Form::llama)
    compute.ops.run(RmsNormForward{piece.rows(), width(), epsilon_, input, parameters + gain_, state.normal,
                                   state.statistics});
  else
    compute.ops.run(LayerNormForward{piece.rows(), width(), input, parameters + gain_, parameters + bias_,
                                     state.normal, state.statistics});
  project(compute, piece.rows(), layer(), state.normal, weights_of(piece, parameters), state.logits);
}

void HeadUnit::forward_piece(const Compute& compute, const Batch& piece, const float* parameters,
                             const float* input, float* /*output*/, float* saved) const {
  Carver kept(saved);
  Carver scratch(compute.scratch);
  const State state = state_of(piece, kept, scratch);
  compute_logits(compute, piece, parameters, input, state);
  compute.ops.run(CrossEntropyForward{piece.rows(), vocabulary_, state.logits, piece.targets, piece.losses});
}

void HeadUnit::backward_piece(const Compute& compute, const Batch& piece, const float* parameters,
                              const float* input, float* saved, float* gradient,
                              float* parameter_gradients) const {
  Carver kept(saved);
  Carver scratch(compute.scratch);
  const State state = state_of(piece, kept, scratch);
  if (!tied_ && recompute() == Recompute::full) compute_logits(compute, piece, parameters, input, state);

  const Index rows = piece.rows();
  float* logit_gradient = tied_ ? state.logits : scratch.take(rows * vocabulary_);
  float* normal_gradient = scratch.take(rows * width());
  compute.ops.run(
      CrossEntropyBackward{rows, vocabulary_, piece.loss_scale, state.logits, piece.targets, logit_gradient});
  if (!tied_)
    project_weights_backward(compute, rows, layer(), state.normal, logit_gradient,
                             parameter_gradients + weights_);
  project_input_backward(compute, rows, layer(), weights_of(piece, parameters), logit_gradient,
                         normal_gradient);
  compute.ops.clear(rows * width(), gradient);
  if (form_ == Form::llama)
    compute.ops.run(RmsNormBackward{rows, width(), normal_gradient, input, parameters + gain_,
                                    state.statistics, gradient, parameter_gradients + gain_});
  else
    compute.ops.run(LayerNormBackward{rows, width(), normal_gradient, input, parameters + gain_,
                                      state.statistics, gradient, parameter_gradients + gain_,
                                      parameter_gradients + bias_});
}

}  // namespace weir::trainer
