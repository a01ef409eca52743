// SPDX-License-Identifier: Apache-2.0

#include "trainer/math/row_parts.h"
#include "trainer/math/rows.h"

namespace weir::trainer {

WEIR_TRAINER_CLONES void rms_norm_forward(Index rows, Index width, float epsilon, const float* x,
                                          const float* gain, float* out, float* statistics) {
  for (Index row = 0; row < rows; ++row, x += width, out += width, statistics += 2) {
    const parts::Moments of = parts::root_mean_square(width, x, epsilon);
    statistics[0] = of.mean;
    statistics[1] = of.reciprocal_deviation;
    for (Index at = 0; at < width; ++at) out[at] = x[at] * of.reciprocal_deviation * gain[at];
  }
}

WEIR_TRAINER_CLONES void rms_norm_backward(Index rows, Index width, const float* out_gradient, const float* x,
                                           const float* gain, const float* statistics, float* x_gradient_sum,
                                           float* gain_gradient_sum) {
  for (Index row = 0; row < rows; ++row) {
    const parts::Moments of{0.0f, statistics[2 * row + 1]};
    const float mean = parts::mean_gradients(width, out_gradient, x, gain, of).normalised;
    for (Index at = 0; at < width; ++at) {
      const float normalised = x[at] * of.reciprocal_deviation;
      x_gradient_sum[at] += (out_gradient[at] * gain[at] - normalised * mean) * of.reciprocal_deviation;
      gain_gradient_sum[at] += out_gradient[at] * normalised;
    }
    x += width;
    out_gradient += width;
    x_gradient_sum += width;
  }
}

}  // namespace weir::trainer
