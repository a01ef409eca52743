// SPDX-License-Identifier: Apache-2.0

#include "trainer/math/orthogonalise.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weir::trainer {
namespace {

constexpr float kA = 3.4445f;
constexpr float kB = -4.7750f;
constexpr float kC = 2.0315f;
constexpr int kSteps = 5;
constexpr double kLeastNorm = 1e-7;

void divide_by_norm(Index count, float* x) {
  double squares = 0;
  for (Index at = 0; at < count; ++at) squares += static_cast<double>(x[at]) * static_cast<double>(x[at]);
  const auto factor = static_cast<float>(1.0 / (std::sqrt(squares) + kLeastNorm));
  for (Index at = 0; at < count; ++at) x[at] *= factor;
}

void transpose(Index rows, Index columns, const float* from, float* to) {
  for (Index row = 0; row < rows; ++row)
    for (Index column = 0; column < columns; ++column) to[column * rows + row] = from[row * columns + column];
}

}  // namespace

Index orthogonalise_scratch(Index rows, Index columns) {
  const Index less = std::min(rows, columns);
  return 2 * rows * columns + 2 * less * less;
}

void orthogonalise(Products& products, Index rows, Index columns, float* x, float* scratch) {
  const Index n = std::min(rows, columns), m = std::max(rows, columns);
  const bool tall = rows > columns;
  float *now = scratch, *next = scratch + n * m, *square = next + n * m, *factor = square + n * n;
  if (tall)
    transpose(rows, columns, x, now);
  else
    std::copy_n(x, n * m, now);
  divide_by_norm(n * m, now);
  const ProductShape squares{.rows = n, .depth = m, .columns = n, .transpose_b = true};
  const ProductShape fourths{.rows = n, .depth = n, .columns = n};
  const ProductShape applied{.rows = n, .depth = n, .columns = m, .accumulate = true};
  for (int step = 0; step < kSteps; ++step) {
    products.run(squares, now, now, square);
    products.run(fourths, square, square, factor);
    for (Index at = 0; at < n * n; ++at) factor[at] = kB * square[at] + kC * factor[at];
    for (Index at = 0; at < n * m; ++at) next[at] = kA * now[at];
    products.run(applied, factor, now, next);
    std::swap(now, next);
  }
  if (tall)
    transpose(columns, rows, now, x);
  else
    std::copy_n(now, n * m, x);
}

}  // namespace weir::trainer
