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

// Writes zeros after the last column that is seen.
[[gnu::always_inline]] inline void clear_rest(Index columns, Index from, float* row) {
  std::memset(row + from, 0, static_cast<size_t>(columns - from) * sizeof(float));
}

}  // namespace

WEIR_TRAINER_CLONES void causal_softmax_forward(Index matrices, Index rows, Index columns, Index first,
                                                float scale, float* scores) {
  for (Index matrix = 0; matrix < matrices; ++matrix) {
    for (Index row = 0; row < rows; ++row, scores += columns) {
      const Index seen = first + row + 1;
      const float factor = 1.0f / exponentials(seen, scores, scale, row_maximum(seen, scores), scores);
      for (Index at = 0; at < seen; ++at) scores[at] *= factor;
      clear_rest(columns, seen, scores);
    }
  }
}

WEIR_TRAINER_CLONES void causal_softmax_backward(Index matrices, Index rows, Index columns, Index first,
                                                 float scale, const float* probabilities, float* gradient) {
  for (Index matrix = 0; matrix < matrices; ++matrix) {
    for (Index row = 0; row < rows; ++row, probabilities += columns, gradient += columns) {
      const Index seen = first + row + 1;
      const float mean = inner_product(seen, probabilities, gradient);
      for (Index at = 0; at < seen; ++at) gradient[at] = scale * probabilities[at] * (gradient[at] - mean);
      clear_rest(columns, seen, gradient);
    }
  }
}

WEIR_TRAINER_CLONES void cross_entropy_forward(Index rows, Index classes, const float* logits,
                                               const uint8_t* targets, float* losses) {
  for (Index row = 0; row < rows; ++row, logits += classes)
    losses[row] = cross_entropy(classes, logits, targets[row]);
}

WEIR_TRAINER_CLONES void cross_entropy_backward(Index rows, Index classes, float scale, const float* logits,
                                                const uint8_t* targets, float* logit_gradient) {
  for (Index row = 0; row < rows; ++row, logits += classes, logit_gradient += classes) {
    const float factor =
        scale / exponentials(classes, logits, 1.0f, row_maximum(classes, logits), logit_gradient);
    for (Index at = 0; at < classes; ++at) logit_gradient[at] *= factor;
    logit_gradient[targets[row]] -= scale;
  }
}

}  // namespace weir::trainer
