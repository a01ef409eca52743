// SPDX-License-Identifier: Apache-2.0
// The rate of a block's matrix products, forward and backward, by the number of rows, beside the saturation
// that the step-time model assumes (trainer/plan/cluster.h): products [PRESET...].
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "trainer/math/buffer.h"
#include "trainer/math/products.h"
#include "trainer/model/config.h"

namespace {

using namespace weir::trainer;

constexpr std::array<Index, 6> kRows = {8, 32, 128, 512, 2048, 4096};
constexpr int kTurns = 9;

/// Inputs and outputs of a linear layer.
struct Linear {
  Index in, out;
};

/// As BlockUnit has them.
std::array<Linear, 4> layers_of(Index width) {
  return {{{width, 3 * width}, {width, width}, {width, 4 * width}, {4 * width, width}}};
}

/// One linear layer: its result, and the gradients of its weights and of its input.
void run(Products& products, const Linear& layer, Index rows, const float* in, const float* weights,
         float* out) {
  products.run({.rows = rows, .depth = layer.in, .columns = layer.out, .transpose_b = true}, in, weights,
               out);
  products.run(
      {.rows = layer.out, .depth = rows, .columns = layer.in, .transpose_a = true, .accumulate = true}, in,
      in, out);
  products.run({.rows = rows, .depth = layer.out, .columns = layer.in}, in, weights, out);
}

/// Seconds of a block's products: the least of some turns.
double seconds_of(Products& products, Index width, Index rows) {
  const Index most = 4 * width * std::max(rows, width);
  Buffer in(most), weights(4 * width * width), out(most);
  double best = 1e9;
  for (int turn = 0; turn <= kTurns; ++turn) {
    const auto begin = std::chrono::steady_clock::now();
    for (const Linear& layer : layers_of(width))
      run(products, layer, rows, in.data(), weights.data(), out.data());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (turn > 0) best = std::min(best, took.count());  // the first one makes the primitives
  }
  return best;
}

/// The line fixed + each * rows with the least relative error.
struct Line {
  double fixed, each;
};

Line line_through(const std::vector<double>& seconds) {
  double ones = 0, rows = 0, squares = 0, times = 0, products = 0;  // sums weighted by 1 / seconds^2
  for (size_t at = 0; at < seconds.size(); ++at) {
    const double weight = 1 / (seconds[at] * seconds[at]);
    const auto x = static_cast<double>(kRows[at]);
    ones += weight;
    rows += weight * x;
    squares += weight * x * x;
    times += weight * seconds[at];
    products += weight * x * seconds[at];
  }
  const double each = (ones * products - rows * times) / (ones * squares - rows * rows);
  return {(times - each * rows) / ones, each};
}

void show(Products& products, const Config& config) {
  const auto width = static_cast<double>(config.width);
  const double operations = 3 * 2 * 12 * width * width;  // per row
  std::vector<double> seconds;
  for (const Index rows : kRows) seconds.push_back(seconds_of(products, config.width, rows));
  const Line line = line_through(seconds);
  fmt::print("{} (width {}): {:.1f} GFLOP/s with many rows, half of that with {:.0f} rows\n", config.name,
             config.width, operations / line.each / 1e9, line.fixed / line.each);
  fmt::print("  {:>5} {:>10} {:>10}\n", "rows", "measured", "model");
  for (size_t at = 0; at < kRows.size(); ++at) {
    const auto rows = static_cast<double>(kRows[at]);
    fmt::print("  {:>5} {:>10.1f} {:>10.1f}\n", kRows[at], rows * operations / seconds[at] / 1e9,
               rows * operations / (line.fixed + line.each * rows) / 1e9);
  }
}

}  // namespace

int main(int count, char** words) {
  use_threads(1);
  Products products(Precision::fp32);
  std::vector<std::string> names(words + 1, words + count);
  if (names.empty()) names = {"tiny", "small", "medium", "124M"};
  fmt::print("{}\n", products_code());
  for (const std::string& name : names) {
    const auto config = preset(name);
    if (!config.ok()) {
      fmt::print(stderr, "products: {}\n", config.status().message());
      return 2;
    }
    show(products, *config);
  }
  if (products.status().ok()) return 0;
  fmt::print(stderr, "products: {}\n", products.status().message());
  return 1;
}
