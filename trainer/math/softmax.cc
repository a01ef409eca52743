// SPDX-License-Identifier: Apache-2.0
// Softmax: of attention, and of the loss.
#include <cstring>

#include "trainer/math/row_parts.h"
#include "trainer/math/rows.h"

namespace weir::trainer {

using parts::cross_entropy;
using parts::exponentials;
using parts::inner_product;
using parts::row_maximum;

namespace {

[[gnu::always_inline]] inline void clear(Index from, Index end, float* row) {
  std::memset(row + from, 0, static_cast<size_t>(end - from) * sizeof(float));
}

}  // namespace

WEIR_TRAINER_CLONES void causal_softmax_forward(const CausalSoftmaxForward& call) {
  float* scores = call.scores;
  for (Index matrix = 0; matrix < call.matrices; ++matrix) {
    for (Index row = 0; row < call.rows; ++row, scores += call.columns) {
      const Index start = parts::start_of(call.from, matrix, call.first + row);
      const Index end = call.first + row + 1;
      float* const seen = scores + start;
      const Index count = end - start;
      const float factor = 1.0f / exponentials(count, seen, call.scale, row_maximum(count, seen), seen);
      for (Index at = 0; at < count; ++at) seen[at] *= factor;
      clear(0, start, scores);
      clear(end, call.columns, scores);
    }
  }
}

WEIR_TRAINER_CLONES void causal_softmax_backward(const CausalSoftmaxBackward& call) {
  const float* probabilities = call.probabilities;
  float* gradient = call.gradient;
  for (Index matrix = 0; matrix < call.matrices; ++matrix) {
    for (Index row = 0; row < call.rows; ++row, probabilities += call.columns, gradient += call.columns) {
      const Index start = parts::start_of(call.from, matrix, call.first + row);
      const Index end = call.first + row + 1;
      const float mean = inner_product(end - start, probabilities + start, gradient + start);
      for (Index at = start; at < end; ++at)
        gradient[at] = call.scale * probabilities[at] * (gradient[at] - mean);
      clear(0, start, gradient);
      clear(end, call.columns, gradient);
    }
  }
}

WEIR_TRAINER_CLONES void cross_entropy_forward(Index rows, Index classes, const float* logits,
                                               const Token* targets, float* losses) {
  for (Index row = 0; row < rows; ++row, logits += classes)
    losses[row] = cross_entropy(classes, logits, static_cast<Index>(targets[row]));
}

WEIR_TRAINER_CLONES void cross_entropy_backward(Index rows, Index classes, float scale, const float* logits,
                                                const Token* targets, float* logit_gradient) {
  for (Index row = 0; row < rows; ++row, logits += classes, logit_gradient += classes) {
    const float factor =
        scale / exponentials(classes, logits, 1.0f, row_maximum(classes, logits), logit_gradient);
    for (Index at = 0; at < classes; ++at) logit_gradient[at] *= factor;
    logit_gradient[targets[row]] -= scale;
  }
}

}  // namespace weir::trainer
