// SPDX-License-Identifier: Apache-2.0
/// The trainer's arithmetic once more, naively and in fp64: one loop per formula, nothing shared with the
/// kernels.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "trainer/math/philox.h"
#include "trainer/model/model.h"

namespace weir::trainer::reference {

using Values = std::vector<double>;

/// `count` numbers about as large as activations are, the same for the same stream.
inline Values random_values(size_t count, uint32_t stream, double mean = 0.0) {
  Values values;
  for (size_t at = 0; values.size() < count; ++at)
    for (const float normal : to_normals(random_block(7, Purpose::generate, stream, at)))
      if (values.size() < count)
        values.push_back(static_cast<double>(static_cast<float>(mean + 0.7 * static_cast<double>(normal))));
  return values;
}

inline std::vector<float> to_floats(const Values& values) { return {values.begin(), values.end()}; }

inline Values layer_norm(size_t rows, size_t width, const double* x, const double* gain, const double* bias) {
  Values out(rows * width);
  for (size_t row = 0; row < rows; ++row) {
    double mean = 0;
    double variance = 0;
    for (size_t at = 0; at < width; ++at) mean += x[row * width + at] / static_cast<double>(width);
    for (size_t at = 0; at < width; ++at)
      variance += std::pow(x[row * width + at] - mean, 2) / static_cast<double>(width);
    for (size_t at = 0; at < width; ++at)
      out[row * width + at] = (x[row * width + at] - mean) / std::sqrt(variance + 1e-5) * gain[at] + bias[at];
  }
  return out;
}

inline Values rms_norm(size_t rows, size_t width, const double* x, const double* gain, double epsilon) {
  Values out(rows * width);
  for (size_t row = 0; row < rows; ++row) {
    double square = 0;
    for (size_t at = 0; at < width; ++at)
      square += std::pow(x[row * width + at], 2) / static_cast<double>(width);
    for (size_t at = 0; at < width; ++at)
      out[row * width + at] = x[row * width + at] / std::sqrt(square + epsilon) * gain[at];
  }
  return out;
}

/// Muon's iteration, for a matrix of any form: with more rows than columns, that of the transpose.
inline Values newton_schulz(Index rows, Index columns, Values x) {
  const auto product = [](Index n, Index depth, Index m, const Values& a, const Values& b) {
    Values c(static_cast<size_t>(n * m));
    for (Index i = 0; i < n; ++i)
      for (Index k = 0; k < depth; ++k)
        for (Index j = 0; j < m; ++j)
          c[static_cast<size_t>(i * m + j)] +=
              a[static_cast<size_t>(i * depth + k)] * b[static_cast<size_t>(k * m + j)];
    return c;
  };
  const auto transposed = [](Index n, Index m, const Values& a) {
    Values t(a.size());
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < m; ++j) t[static_cast<size_t>(j * n + i)] = a[static_cast<size_t>(i * m + j)];
    return t;
  };
  if (rows > columns)
    return transposed(columns, rows, newton_schulz(columns, rows, transposed(rows, columns, x)));
  double squares = 0;
  for (const double value : x) squares += value * value;
  for (double& value : x) value /= std::sqrt(squares) + 1e-7;
  for (int step = 0; step < 5; ++step) {
    const Values a = product(rows, columns, rows, x, transposed(rows, columns, x));
    const Values aax = product(rows, rows, columns, product(rows, rows, rows, a, a), x);
    const Values ax = product(rows, rows, columns, a, x);
    for (size_t at = 0; at < x.size(); ++at) x[at] = 3.4445 * x[at] - 4.7750 * ax[at] + 2.0315 * aax[at];
  }
  return x;
}

inline double silu(double x) { return x / (1 + std::exp(-x)); }

/// Turns one head of `size` elements at a position, in Llama's form.
inline void turn(size_t position, size_t size, double base, double* head) {
  for (size_t at = 0; at < size / 2; ++at) {
    const double angle = static_cast<double>(position) *
                         std::pow(base, -2 * static_cast<double>(at) / static_cast<double>(size));
    const double low = head[at], high = head[at + size / 2];
    head[at] = low * std::cos(angle) - high * std::sin(angle);
    head[at + size / 2] = high * std::cos(angle) + low * std::sin(angle);
  }
}

inline double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

/// x [rows, in] by weights [in, out], plus a bias where there is one.
inline Values linear(size_t rows, size_t in, size_t out, const double* x, const double* weights,
                     const double* bias) {
  Values result(rows * out);
  for (size_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < out; ++column) {
      double sum = bias != nullptr ? bias[column] : 0.0;
      for (size_t at = 0; at < in; ++at) sum += x[row * in + at] * weights[at * out + column];
      result[row * out + column] = sum;
    }
  }
  return result;
}

/// Softmax over j <= i of scale * scores, for one square matrix.
inline Values causal_softmax(size_t length, double scale, const double* scores) {
  Values out(length * length);
  for (size_t i = 0; i < length; ++i) {
    double sum = 0;
    for (size_t j = 0; j <= i; ++j) sum += std::exp(scale * scores[i * length + j]);
    for (size_t j = 0; j <= i; ++j) out[i * length + j] = std::exp(scale * scores[i * length + j]) / sum;
  }
  return out;
}

/// Attention over rows of query, key and value side by side: [sequences * length, 3 * width] to [.., width].
inline Values attention(size_t sequences, size_t length, size_t heads, size_t width, const Values& rows) {
  const size_t size = width / heads;
  Values out(sequences * length * width);
  for (size_t sequence = 0; sequence < sequences; ++sequence) {
    for (size_t head = 0; head < heads; ++head) {
      const auto at = [&](size_t position, size_t which, size_t element) {
        return rows[((sequence * length + position) * 3 + which) * width + head * size + element];
      };
      Values scores(length * length);
      for (size_t i = 0; i < length; ++i)
        for (size_t j = 0; j < length; ++j)
          for (size_t e = 0; e < size; ++e) scores[i * length + j] += at(i, 0, e) * at(j, 1, e);
      const Values weights = causal_softmax(length, 1 / std::sqrt(static_cast<double>(size)), scores.data());
      for (size_t i = 0; i < length; ++i)
        for (size_t j = 0; j < length; ++j)
          for (size_t e = 0; e < size; ++e)
            out[(sequence * length + i) * width + head * size + e] += weights[i * length + j] * at(j, 2, e);
    }
  }
  return out;
}

inline double cross_entropy(size_t rows, size_t classes, const double* logits, const Token* targets) {
  double loss = 0;
  for (size_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (size_t at = 0; at < classes; ++at) sum += std::exp(logits[row * classes + at]);
    loss += std::log(sum) - logits[row * classes + targets[row]];
  }
  return loss;
}

/// The sum of the losses of a whole model; `parameters` holds an array for each unit, laid out as its table
/// says.
double model_loss(const Config& config, const Model& model, const std::vector<Values>& parameters,
                  std::span<const Token> tokens, std::span<const Token> targets);

/// d f / d x[at] by central differences.
inline double slope(const std::function<double()>& f, double& x, double step = 1e-5) {
  const double before = x;
  x = before + step;
  const double above = f();
  x = before - step;
  const double below = f();
  x = before;
  return (above - below) / (2 * step);
}

}  // namespace weir::trainer::reference
