#include <cmath>

#include "trainer/math/rows.h"

namespace weir::trainer {
namespace {

constexpr float kEpsilon = 1e-5f;

struct Moments {
  float mean;
  float reciprocal_deviation;
};

[[gnu::always_inline]] inline Moments moments(Index width, const float* x) {
  Lanes sums{};
  Index at = 0;
  for (; at + kLanes <= width; at += kLanes) sums += load(x + at);
  if (at < width) sums += load_first(x + at, width - at, 0.0f);
  const float mean = sum_of(sums) / static_cast<float>(width);
  Lanes squares{};
  for (at = 0; at + kLanes <= width; at += kLanes) {
    const Lanes distance = load(x + at) - mean;
    squares += distance * distance;
  }
  if (at < width) {
    const Lanes distance = load_first(x + at, width - at, mean) - mean;
    squares += distance * distance;
  }
  const float variance = sum_of(squares) / static_cast<float>(width);
  return {mean, 1.0f / std::sqrt(variance + kEpsilon)};
}

struct MeanGradients {
  float plain;       ///< mean of gain * gradient
  float normalised;  ///< mean of gain * gradient * normalised x
};

[[gnu::always_inline]] inline MeanGradients mean_gradients(Index width, const float* out_gradient,
                                                           const float* x, const float* gain, Moments of) {
  Lanes plain{};
  Lanes normalised{};
  Index at = 0;
  for (; at + kLanes <= width; at += kLanes) {
    const Lanes gradient = load(out_gradient + at) * load(gain + at);
    plain += gradient;
    normalised += gradient * ((load(x + at) - of.mean) * of.reciprocal_deviation);
  }
  if (at < width) {
    const Index rest = width - at;
    const Lanes gradient = load_first(out_gradient + at, rest, 0.0f) * load_first(gain + at, rest, 0.0f);
    plain += gradient;
    normalised += gradient * ((load_first(x + at, rest, 0.0f) - of.mean) * of.reciprocal_deviation);
  }
  return {sum_of(plain) / static_cast<float>(width), sum_of(normalised) / static_cast<float>(width)};
}

}  // namespace

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
