// SPDX-License-Identifier: Apache-2.0
// Biases, residuals and GELU.
#include "trainer/math/row_parts.h"
#include "trainer/math/rows.h"

namespace weir::trainer {
using parts::gate;
using parts::gelu_gradient;

WEIR_TRAINER_CLONES void add_bias_and_residual(Index rows, Index width, float* out, const float* bias,
                                               const float* residual) {
  for (Index row = 0; row < rows; ++row, out += width, residual += width)
    for (Index at = 0; at < width; ++at) out[at] = out[at] + bias[at] + residual[at];
}

WEIR_TRAINER_CLONES void bias_backward(Index rows, Index width, const float* out_gradient,
                                       float* bias_gradient_sum) {
  for (Index row = 0; row < rows; ++row, out_gradient += width)
    for (Index at = 0; at < width; ++at) bias_gradient_sum[at] += out_gradient[at];
}

WEIR_TRAINER_CLONES void bias_gelu_forward(Index rows, Index width, float* x, const float* bias, float* out) {
  for (Index row = 0; row < rows; ++row, x += width, out += width) {
    Index at = 0;
    for (; at + kLanes <= width; at += kLanes) {
      const Lanes value = load(x + at) + load(bias + at);
      store(x + at, value);
      store(out + at, value * gate(value));
    }
    if (at < width) {
      const Lanes value = load_first(x + at, width - at, 0.0f) + load_first(bias + at, width - at, 0.0f);
      store_first(x + at, value, width - at);
      store_first(out + at, value * gate(value), width - at);
    }
  }
}

WEIR_TRAINER_CLONES void gelu_forward(Index count, const float* x, float* out) {
  Index at = 0;
  for (; at + kLanes <= count; at += kLanes) {
    const Lanes value = load(x + at);
    store(out + at, value * gate(value));
  }
  if (at < count) {
    const Lanes value = load_first(x + at, count - at, 0.0f);
    store_first(out + at, value * gate(value), count - at);
  }
}

WEIR_TRAINER_CLONES void gelu_backward(Index count, const float* x, float* gradient) {
  Index at = 0;
  for (; at + kLanes <= count; at += kLanes)
    store(gradient + at, load(gradient + at) * gelu_gradient(load(x + at)));
  if (at < count) {
    const Index rest = count - at;
    const Lanes product =
        load_first(gradient + at, rest, 0.0f) * gelu_gradient(load_first(x + at, rest, 0.0f));
    store_first(gradient + at, product, rest);
  }
}

}  // namespace weir::trainer
