// SPDX-License-Identifier: Apache-2.0

#include "trainer/model/embedding_unit.h"

namespace weir::trainer {
namespace {

// Every slice has the whole unit.
ParameterTable embedding_table(const Config& config, uint32_t stream, Slice slice) {
  ParameterTable table(stream, slice);
  table.add_matrix("embedding.tokens", config.vocabulary, config.width, kInitialDeviation);
  if (config.form == Form::gpt2)
    table.add_matrix("embedding.positions", config.length, config.width, kInitialDeviation);
  return table;
}

}  // namespace

EmbeddingUnit::EmbeddingUnit(const Config& config, uint32_t stream, Slice slice)
    : Unit(embedding_table(config, stream, slice), config.width, Recompute::none),
      vocabulary_(config.vocabulary),
      tied_(config.tied),
      tokens_(parameters().tensors()[0].offset),
      positions_(config.form == Form::gpt2 ? std::optional(parameters().tensors()[1].offset) : std::nullopt) {
}

Unit::Sizes EmbeddingUnit::sizes(const Batch& /*piece*/) const { return {}; }

void EmbeddingUnit::forward_piece(const Compute& compute, const Batch& piece, const float* parameters,
                                  const float* /*input*/, float* output, float* /*saved*/) const {
  compute.ops.run(EmbeddingForward{piece.rows(), piece.length, width(), piece.tokens, parameters + tokens_,
                                   positions_ ? parameters + *positions_ : nullptr, output});
}

void EmbeddingUnit::backward_piece(const Compute& compute, const Batch& piece, const float* /*parameters*/,
                                   const float* /*input*/, float* /*saved*/, float* gradient,
                                   float* parameter_gradients) const {
  if (tied_)
    project_weights_backward(compute, piece.rows(), {width(), vocabulary_, true}, piece.tied.normal,
                             piece.tied.logits, parameter_gradients + tokens_);
  compute.ops.run(EmbeddingBackward{piece.rows(), piece.length, width(), piece.tokens, gradient,
                                    parameter_gradients + tokens_,
                                    positions_ ? parameter_gradients + *positions_ : nullptr});
}

}  // namespace weir::trainer
