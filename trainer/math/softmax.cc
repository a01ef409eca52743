// Softmax: of attention, and of the loss.
#include <cmath>
#include <cstring>
#include <limits>

#include "trainer/math/rows.h"

namespace weir::trainer {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::max();

[[gnu::always_inline]] inline float row_maximum(Index count, const float* x) {
  Lanes largest = all(kLowest);
  Index at = 0;
  for (; at + kLanes <= count; at += kLanes) largest = larger(largest, load(x + at));
  if (at < count) largest = larger(largest, load_first(x + at, count - at, kLowest));
  return largest_of(largest);
}

// out = exp(scale * (x - maximum)); its sum.
[[gnu::always_inline]] inline float exponentials(Index count, const float* x, float scale, float maximum,
                                                 float* out) {
  Lanes sums{};
  Index at = 0;
  for (; at + kLanes <= count; at += kLanes) {
    const Lanes value = exponential(scale * (load(x + at) - maximum));
    store(out + at, value);
    sums += value;
  }
  float sum = sum_of(sums);
  if (at < count) {
    const Lanes value = exponential(scale * (load_first(x + at, count - at, maximum) - maximum));
    store_first(out + at, value, count - at);
    sum += sum_of(load_first(out + at, count - at, 0.0f));
  }
  return sum;
}

[[gnu::always_inline]] inline float inner_product(Index count, const float* a, const float* b) {
  Lanes sums{};
  Index at = 0;
  for (; at + kLanes <= count; at += kLanes) sums += load(a + at) * load(b + at);
  if (at < count) sums += load_first(a + at, count - at, 0.0f) * load_first(b + at, count - at, 0.0f);
  return sum_of(sums);
}

// What lies after the diagonal.
[[gnu::always_inline]] inline void clear_rest(Index length, Index from, float* row) {
  std::memset(row + from, 0, static_cast<size_t>(length - from) * sizeof(float));
}

}  // namespace

WEIR_TRAINER_CLONES void causal_softmax_forward(Index matrices, Index length, float scale, float* scores) {
  for (Index matrix = 0; matrix < matrices; ++matrix) {
    for (Index row = 0; row < length; ++row, scores += length) {
      const Index seen = row + 1;
      const float factor = 1.0f / exponentials(seen, scores, scale, row_maximum(seen, scores), scores);
      for (Index at = 0; at < seen; ++at) scores[at] *= factor;
      clear_rest(length, seen, scores);
    }
  }
}

WEIR_TRAINER_CLONES void causal_softmax_backward(Index matrices, Index length, float scale,
                                                 const float* probabilities, float* gradient) {
  for (Index matrix = 0; matrix < matrices; ++matrix) {
    for (Index row = 0; row < length; ++row, probabilities += length, gradient += length) {
      const Index seen = row + 1;
      const float mean = inner_product(seen, probabilities, gradient);
      for (Index at = 0; at < seen; ++at) gradient[at] = scale * probabilities[at] * (gradient[at] - mean);
      clear_rest(length, seen, gradient);
    }
  }
}

WEIR_TRAINER_CLONES void cross_entropy_forward(Index rows, Index classes, const float* logits,
                                               const uint8_t* targets, float* losses) {
  for (Index row = 0; row < rows; ++row, logits += classes) {
    const float maximum = row_maximum(classes, logits);
    Lanes sums{};
    Index at = 0;
    for (; at + kLanes <= classes; at += kLanes) sums += exponential(load(logits + at) - maximum);
    float sum = sum_of(sums);
    for (; at < classes; ++at) sum += std::exp(logits[at] - maximum);
    losses[row] = std::log(sum) - (logits[targets[row]] - maximum);
  }
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
