// SPDX-License-Identifier: Apache-2.0

#include "trainer/math/row_parts.h"
#include "trainer/math/rows.h"

namespace weir::trainer {
using parts::mean_gradients;
using parts::MeanGradients;
using parts::Moments;
using parts::moments;

WEIR_TRAINER_CLONES void layer_norm_forward(Index rows, Index width, const float* x, const float* gain,
                                            const float* bias, float* out, float* statistics) {
  for (Index row = 0; row < rows; ++row, x += width, out += width, statistics += 2) {
    const Moments of = moments(width, x);
    statistics[0] = of.mean;
    statistics[1] = of.reciprocal_deviation;
    for (Index at = 0; at < width; ++at)
      out[at] = (x[at] - of.mean) * of.reciprocal_deviation * gain[at] + bias[at];
  }
}

WEIR_TRAINER_CLONES void layer_norm_backward(Index rows, Index width, const float* out_gradient,
                                             const float* x, const float* gain, const float* statistics,
                                             float* x_gradient_sum, float* gain_gradient_sum,
                                             float* bias_gradient_sum) {
  for (Index row = 0; row < rows; ++row) {
    const Moments of{statistics[2 * row], statistics[2 * row + 1]};
    const MeanGradients mean = mean_gradients(width, out_gradient, x, gain, of);
    for (Index at = 0; at < width; ++at) {
      const float normalised = (x[at] - of.mean) * of.reciprocal_deviation;
      const float gradient = out_gradient[at] * gain[at] - mean.plain - normalised * mean.normalised;
      x_gradient_sum[at] += gradient * of.reciprocal_deviation;
      gain_gradient_sum[at] += out_gradient[at] * normalised;
      bias_gradient_sum[at] += out_gradient[at];
    }
    x += width;
    out_gradient += width;
    x_gradient_sum += width;
  }
}

}  // namespace weir::trainer
