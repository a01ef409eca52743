// SPDX-License-Identifier: Apache-2.0
/// The arithmetic of row kernels inside a row, shared by all devices: the CPU (bias.cc, layernorm.cc,
/// softmax.cc, elements.cc) and GPUs (gpu/kernels.cc) only distribute rows differently. Everything must be
/// inlined, as lanes.h explains.
#pragma once

#include <cmath>

#include "trainer/math/lanes.h"
#include "trainer/math/row_calls.h"

namespace weir::trainer::parts {

// --- GELU: 1/2 (1 + tanh u) is the logistic function of 2 u.
inline constexpr float kRootTwoOverPi = 0.79788456080286536f;
inline constexpr float kCubic = 0.044715f;

WEIR_TRAINER_INLINE Lanes gate(Lanes x) {
  const Lanes twice_u = 2.0f * kRootTwoOverPi * (x + kCubic * x * x * x);
  return 1.0f / (1.0f + exponential(-twice_u));
}

WEIR_TRAINER_INLINE Lanes gelu_gradient(Lanes x) {
  const Lanes open = gate(x);
  return open + x * open * (1.0f - open) * (2.0f * kRootTwoOverPi) * (1.0f + 3.0f * kCubic * x * x);
}

// --- Layer norm
inline constexpr float kEpsilon = 1e-5f;

struct Moments {
  float mean;
  float reciprocal_deviation;
};

WEIR_TRAINER_INLINE Moments moments(Index width, const float* x) {
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

WEIR_TRAINER_INLINE MeanGradients mean_gradients(Index width, const float* out_gradient, const float* x,
                                                 const float* gain, Moments of) {
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

// --- SwiGLU
WEIR_TRAINER_INLINE Lanes logistic(Lanes x) { return 1.0f / (1.0f + exponential(-x)); }
WEIR_TRAINER_INLINE Lanes silu_gradient(Lanes x) {
  const Lanes open = logistic(x);
  return open + x * open * (1.0f - open);
}

// --- Rotary position embedding
/// Radians per position of the pair `at` of `size` / 2.
WEIR_TRAINER_INLINE float rotary_frequency(Index at, Index size, float base, const RotaryScaling& scaling) {
  const double frequency =
      1.0 / pow(static_cast<double>(base), 2.0 * static_cast<double>(at) / static_cast<double>(size));
  if (scaling.original_length == 0) return static_cast<float>(frequency);
  constexpr double kCircle = 6.283185307179586;
  const double slow = scaling.slow, fast = scaling.fast, factor = scaling.factor;
  const double turns = static_cast<double>(scaling.original_length) * frequency / kCircle;
  const double kept = turns <= slow ? 0 : turns >= fast ? 1 : (turns - slow) / (fast - slow);
  return static_cast<float>(((1 - kept) / factor + kept) * frequency);
}

struct Turn {
  float cosine, sine;
};

/// Cosine and sine of an angle below 1e9 by their Taylor series, rounded once from fp64: the same bits on all
/// processors, which those of C libraries are not.
WEIR_TRAINER_INLINE Turn turn_of(float angle) {
  constexpr double kHalfPi = 1.5707963267948966;
  constexpr double kRounds = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
  const double quarters = static_cast<double>(angle) * (1.0 / kHalfPi) + kRounds - kRounds;
  const double r = static_cast<double>(angle) - quarters * kHalfPi;
  const double z = r * r;
  double sine = 1.0 - z * (1.0 / 156.0);
  sine = 1.0 - z * (1.0 / 110.0) * sine;
  sine = 1.0 - z * (1.0 / 72.0) * sine;
  sine = 1.0 - z * (1.0 / 42.0) * sine;
  sine = 1.0 - z * (1.0 / 20.0) * sine;
  sine = r * (1.0 - z * (1.0 / 6.0) * sine);
  double cosine = 1.0 - z * (1.0 / 132.0);
  cosine = 1.0 - z * (1.0 / 90.0) * cosine;
  cosine = 1.0 - z * (1.0 / 56.0) * cosine;
  cosine = 1.0 - z * (1.0 / 30.0) * cosine;
  cosine = 1.0 - z * (1.0 / 12.0) * cosine;
  cosine = 1.0 - z * 0.5 * cosine;
  const auto quadrant = static_cast<int64_t>(quarters) & 3;
  const double first = (quadrant & 1) != 0 ? sine : cosine;
  const double second = (quadrant & 1) != 0 ? cosine : sine;
  return {static_cast<float>(quadrant == 1 || quadrant == 2 ? -first : first),
          static_cast<float>(quadrant >= 2 ? -second : second)};
}

// --- Softmax
/// The first position that a position of one of the matrices sees.
WEIR_TRAINER_INLINE Index start_of(const SeenFrom& from, Index matrix, Index position) {
  return from.starts != nullptr
             ? static_cast<Index>(from.starts[matrix / from.matrices * from.length + position])
             : 0;
}

inline constexpr float kLowest = -3.402823466e38f;

WEIR_TRAINER_INLINE float row_maximum(Index count, const float* x) {
  Lanes largest = all(kLowest);
  Index at = 0;
  for (; at + kLanes <= count; at += kLanes) largest = larger(largest, load(x + at));
  if (at < count) largest = larger(largest, load_first(x + at, count - at, kLowest));
  return largest_of(largest);
}

/// out = exp(scale * (x - maximum)); returns its sum.
WEIR_TRAINER_INLINE float exponentials(Index count, const float* x, float scale, float maximum, float* out) {
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

WEIR_TRAINER_INLINE float inner_product(Index count, const float* a, const float* b) {
  Lanes sums{};
  Index at = 0;
  for (; at + kLanes <= count; at += kLanes) sums += load(a + at) * load(b + at);
  if (at < count) sums += load_first(a + at, count - at, 0.0f) * load_first(b + at, count - at, 0.0f);
  return sum_of(sums);
}

/// The moments of an RMS norm: those of a layer norm whose mean is taken as 0.
WEIR_TRAINER_INLINE Moments root_mean_square(Index width, const float* x, float epsilon) {
  return {0.0f, 1.0f / std::sqrt(inner_product(width, x, x) / static_cast<float>(width) + epsilon)};
}

/// -ln softmax(logits)[target]
WEIR_TRAINER_INLINE float cross_entropy(Index classes, const float* logits, Index target) {
  const float maximum = row_maximum(classes, logits);
  Lanes sums{};
  Index at = 0;
  for (; at + kLanes <= classes; at += kLanes) sums += exponential(load(logits + at) - maximum);
  float sum = sum_of(sums);
  for (; at < classes; ++at) sum += std::exp(logits[at] - maximum);
  return std::log(sum) - (logits[target] - maximum);
}

// --- Sums of squares
WEIR_TRAINER_INLINE float sum_of_squares(Index count, const float* x) { return inner_product(count, x, x); }

// --- AdamW
/// Factors that are the same for all elements.
struct AdamWFactors {
  AdamW set;
  float mean_factor;
  float variance_factor;
  float kept;
};

/// Computed on the host for every device, so that powers are the same on all.
inline AdamWFactors factors_of(const AdamW& set) {
  const double step = static_cast<double>(set.step);
  return {set, static_cast<float>(1.0 / (1.0 - std::pow(static_cast<double>(set.beta1), step))),
          static_cast<float>(1.0 / (1.0 - std::pow(static_cast<double>(set.beta2), step))),
          1.0f - set.learning_rate * set.weight_decay};
}

WEIR_TRAINER_INLINE void adamw(const AdamWFactors& of, float& parameter, float gradient_sum, float& mean,
                               float& variance) {
  const float gradient = gradient_sum * of.set.gradient_scale;
  mean = of.set.beta1 * mean + (1.0f - of.set.beta1) * gradient;
  variance = of.set.beta2 * variance + (1.0f - of.set.beta2) * gradient * gradient;
  const float root = std::sqrt(variance * of.variance_factor);
  parameter = of.kept * parameter - of.set.learning_rate * (mean * of.mean_factor) / (root + of.set.epsilon);
}

}  // namespace weir::trainer::parts
