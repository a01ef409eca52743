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
  table.add_matrix("head.weight", config.width, config.vocabulary, kInitialDeviation);
  return table;
}

}  // namespace

struct HeadUnit::State {
  State(const Batch& piece, Index width, Index vocabulary, bool keep, Carver& saved, Carver& scratch) {
    Carver& from = keep ? saved : scratch;
    normal = from.take(piece.rows() * width);
    statistics = from.take(2 * piece.rows());
    logits = from.take(piece.rows() * vocabulary);
  }

  float* normal;
  float* statistics;
  float* logits;
};

HeadUnit::HeadUnit(const Config& config, Recompute recompute, uint32_t stream, Slice slice)
    : Unit(head_table(config, stream, slice), config.width, recompute),
      vocabulary_(config.vocabulary),
      form_(config.form),
      epsilon_(config.epsilon),
      gain_(parameters().tensors()[0].offset),
      bias_(parameters().tensors()[1].offset),
      weights_(parameters().tensors().back().offset) {}

Unit::Sizes HeadUnit::sizes(const Batch& piece) const {
  Carver saved(nullptr);
  Carver scratch(nullptr);
  State(piece, width(), vocabulary_, recompute() != Recompute::full, saved, scratch);
  scratch.take(piece.rows() * vocabulary_);
  scratch.take(piece.rows() * width());
  return {saved.used(), scratch.used()};
}

void HeadUnit::logits(const Compute& compute, const Batch& batch, const float* parameters, const float* input,
                      float* logits) const {
  Carver scratch(compute.scratch);
  State state(batch, width(), vocabulary_, false, scratch, scratch);
  state.logits = logits;
  compute_logits(compute, batch, parameters, input, state);
}

void HeadUnit::compute_logits(const Compute& compute, const Batch& piece, const float* parameters,
                              const float* input, const State& state) const {
  if (form_ == Form::llama)
    compute.ops.run(RmsNormForward{piece.rows(), width(), epsilon_, input, parameters + gain_, state.normal,
                                   state.statistics});
  else
    compute.ops.run(LayerNormForward{piece.rows(), width(), input, parameters + gain_, parameters + bias_,
                                     state.normal, state.statistics});
  project(compute, piece.rows(), {width(), vocabulary_}, state.normal, parameters + weights_, state.logits);
}

void HeadUnit::forward_piece(const Compute& compute, const Batch& piece, const float* parameters,
                             const float* input, float* /*output*/, float* saved) const {
  Carver kept(saved);
  Carver scratch(compute.scratch);
  const State state(piece, width(), vocabulary_, recompute() != Recompute::full, kept, scratch);
  compute_logits(compute, piece, parameters, input, state);
  compute.ops.run(CrossEntropyForward{piece.rows(), vocabulary_, state.logits, piece.targets, piece.losses});
}

void HeadUnit::backward_piece(const Compute& compute, const Batch& piece, const float* parameters,
                              const float* input, float* saved, float* gradient,
                              float* parameter_gradients) const {
  Carver kept(saved);
  Carver scratch(compute.scratch);
  const State state(piece, width(), vocabulary_, recompute() != Recompute::full, kept, scratch);
  if (recompute() == Recompute::full) compute_logits(compute, piece, parameters, input, state);

  const Index rows = piece.rows();
  float* logit_gradient = scratch.take(rows * vocabulary_);
  float* normal_gradient = scratch.take(rows * width());
  compute.ops.run(
      CrossEntropyBackward{rows, vocabulary_, piece.loss_scale, state.logits, piece.targets, logit_gradient});
  project_backward(compute, rows, {width(), vocabulary_}, state.normal, parameters + weights_, logit_gradient,
                   normal_gradient, parameter_gradients + weights_);
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
