// SPDX-License-Identifier: Apache-2.0

#include "trainer/model/unit.h"

#include <utility>

namespace weir::trainer {
namespace {

// Only this function decides how many sequences a product covers.
Batch first_piece(const Batch& batch) {
  Batch piece = batch;
  if (batch.by_sequence && batch.sequences > 1) piece.sequences = 1;
  return piece;
}

float* moved(float* array, Index by) { return array != nullptr ? array + by : nullptr; }
const float* moved(const float* array, Index by) { return array != nullptr ? array + by : nullptr; }

// Calls visit(piece, sequences before it) for each piece of the batch.
template <typename Visit>
void for_each_piece(const Batch& batch, Visit visit) {
  Batch piece = first_piece(batch);
  for (Index before = 0; before < batch.sequences; before += piece.sequences) {
    visit(static_cast<const Batch&>(piece), before);
    piece.first += piece.sequences;
    piece.tokens += piece.rows();
    if (piece.targets != nullptr) piece.targets += piece.rows();
    if (piece.starts != nullptr) piece.starts += piece.rows();
    if (piece.losses != nullptr) piece.losses += piece.rows();
    piece.tied.normal = moved(piece.tied.normal, piece.rows() * piece.tied.width);
    piece.tied.logits = moved(piece.tied.logits, piece.rows() * piece.tied.vocabulary);
  }
}

}  // namespace

Index Unit::saved_floats(const Batch& batch) const {
  const Batch piece = first_piece(batch);
  return piece.sequences > 0 ? sizes(piece).saved * (batch.sequences / piece.sequences) : 0;
}

Index Unit::scratch_floats(const Batch& batch) const { return sizes(first_piece(batch)).scratch; }

void Unit::forward(const Compute& compute, const Batch& batch, const float* parameters, const float* input,
                   float* output, float* saved) const {
  const Index saved_by_sequence = sizes(first_piece(batch)).saved;
  for_each_piece(batch, [&](const Batch& piece, Index before) {
    const Index activations = before * batch.length * width_;
    forward_piece(compute, piece, parameters, moved(input, activations), moved(output, activations),
                  saved + before * saved_by_sequence);
  });
}

void Unit::backward(const Compute& compute, const Batch& batch, const float* parameters, const float* input,
                    float* saved, float* gradient, Gradients& gradients) const {
  const Index saved_by_sequence = sizes(first_piece(batch)).saved;
  for_each_piece(batch, [&](const Batch& piece, Index before) {
    const Index activations = before * batch.length * width_;
    backward_piece(compute, piece, parameters, moved(input, activations), saved + before * saved_by_sequence,
                   moved(gradient, activations), gradients.open());
    gradients.close(piece.first);
  });
}

void Unit::project(const Compute& compute, Index rows, const Layer& layer, const float* x,
                   const float* weights, float* result) {
  compute.ops.run(
      ProductShape{
          .rows = rows, .depth = layer.in, .columns = layer.out, .transpose_b = layer.rows_are_outputs},
      x, weights, result);
}

void Unit::project_weights_backward(const Compute& compute, Index rows, const Layer& layer, const float* x,
                                    const float* result_gradient, float* weight_gradient_sum) {
  ProductShape to_weights{
      .rows = layer.in, .depth = rows, .columns = layer.out, .transpose_a = true, .accumulate = true};
  const float* left = x;
  const float* right = result_gradient;
  if (layer.rows_are_outputs) {
    std::swap(to_weights.rows, to_weights.columns);
    std::swap(left, right);
  }
  compute.ops.run(to_weights, left, right, weight_gradient_sum);
}

void Unit::project_input_backward(const Compute& compute, Index rows, const Layer& layer,
                                  const float* weights, const float* result_gradient, float* x_gradient,
                                  bool adds) {
  compute.ops.run(ProductShape{.rows = rows,
                               .depth = layer.out,
                               .columns = layer.in,
                               .transpose_b = !layer.rows_are_outputs,
                               .accumulate = adds},
                  result_gradient, weights, x_gradient);
}

void Unit::project_backward(const Compute& compute, Index rows, const Layer& layer, const float* x,
                            const float* weights, const float* result_gradient, float* x_gradient,
                            float* weight_gradient_sum, bool adds) {
  project_weights_backward(compute, rows, layer, x, result_gradient, weight_gradient_sum);
  project_input_backward(compute, rows, layer, weights, result_gradient, x_gradient, adds);
}

void Unit::sum_over_slices(const Compute& compute, Index count, float* array) {
  if (compute.slices != nullptr) compute.slices->sum(count, array);
}

}  // namespace weir::trainer
