// SPDX-License-Identifier: Apache-2.0
// Each row kernel against the formulas in fp64: its values, and its gradients against central differences of
// them.
#include "trainer/math/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "tests/trainer/reference.h"
#include "trainer/math/row_parts.h"

namespace weir::trainer {
namespace {

using reference::random_values;
using reference::slope;
using reference::to_floats;
using reference::Values;

double inner(const Values& a, const Values& b) {
  double sum = 0;
  for (size_t at = 0; at < a.size(); ++at) sum += a[at] * b[at];
  return sum;
}

void expect_near(const std::vector<float>& got, const Values& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t at = 0; at < got.size(); ++at)
    ASSERT_NEAR(static_cast<double>(got[at]), expected[at], tolerance * (1 + std::abs(expected[at])))
        << "at " << at;
}

// The gradient of sum(weights * f()) in every element of x.
Values slopes(const std::function<Values()>& f, const Values& weights, Values& x) {
  Values gradient;
  for (double& element : x) gradient.push_back(slope([&] { return inner(f(), weights); }, element));
  return gradient;
}

// Widths with and without a rest of the lanes.
class Rows : public testing::TestWithParam<Index> {
 protected:
  static constexpr Index kRows = 3;
  Index width() const { return GetParam(); }
  size_t size() const { return static_cast<size_t>(width()); }
  size_t all() const { return static_cast<size_t>(kRows * width()); }
};
INSTANTIATE_TEST_SUITE_P(Widths, Rows, testing::Values(5, 16, 37));

TEST_P(Rows, LayerNorm) {
  Values x = random_values(all(), 1);
  Values gain = random_values(size(), 2, 1.0);
  Values bias = random_values(size(), 3);
  const Values weights = random_values(all(), 4);
  const auto expected = [&] {
    return reference::layer_norm(kRows, size(), x.data(), gain.data(), bias.data());
  };

  std::vector<float> out(all());
  std::vector<float> statistics(2 * kRows);
  layer_norm_forward(kRows, width(), to_floats(x).data(), to_floats(gain).data(), to_floats(bias).data(),
                     out.data(), statistics.data());
  expect_near(out, expected(), 2e-6);

  std::vector<float> x_gradient(all(), 1.0f);  // to which it is added
  std::vector<float> gain_gradient(size());
  std::vector<float> bias_gradient(size());
  layer_norm_backward(kRows, width(), to_floats(weights).data(), to_floats(x).data(), to_floats(gain).data(),
                      statistics.data(), x_gradient.data(), gain_gradient.data(), bias_gradient.data());
  Values x_expected = slopes(expected, weights, x);
  for (double& value : x_expected) value += 1;
  expect_near(x_gradient, x_expected, 1e-5);
  expect_near(gain_gradient, slopes(expected, weights, gain), 1e-5);
  expect_near(bias_gradient, slopes(expected, weights, bias), 1e-5);
}

TEST_P(Rows, RmsNorm) {
  Values x = random_values(all(), 1);
  Values gain = random_values(size(), 2, 1.0);
  const Values weights = random_values(all(), 3);
  const auto expected = [&] { return reference::rms_norm(kRows, size(), x.data(), gain.data(), 0.01); };

  std::vector<float> out(all());
  std::vector<float> statistics(2 * kRows);
  rms_norm_forward(kRows, width(), 0.01f, to_floats(x).data(), to_floats(gain).data(), out.data(),
                   statistics.data());
  expect_near(out, expected(), 2e-6);

  std::vector<float> x_gradient(all(), 1.0f);  // to which it is added
  std::vector<float> gain_gradient(size());
  rms_norm_backward(kRows, width(), to_floats(weights).data(), to_floats(x).data(), to_floats(gain).data(),
                    statistics.data(), x_gradient.data(), gain_gradient.data());
  Values x_expected = slopes(expected, weights, x);
  for (double& value : x_expected) value += 1;
  expect_near(x_gradient, x_expected, 1e-5);
  expect_near(gain_gradient, slopes(expected, weights, gain), 1e-5);
}

TEST_P(Rows, SwiGlu) {
  Values gate = random_values(all(), 1), up = random_values(all(), 2);
  const Values weights = random_values(all(), 3);
  const auto expected = [&] {
    Values out;
    for (size_t at = 0; at < all(); ++at) out.push_back(reference::silu(gate[at]) * up[at]);
    return out;
  };
  std::vector<float> out(all()), gradient = to_floats(weights), gate_gradient(all());
  swiglu_forward(kRows * width(), to_floats(gate).data(), to_floats(up).data(), out.data());
  expect_near(out, expected(), 1e-6);
  swiglu_backward(kRows * width(), to_floats(gate).data(), to_floats(up).data(), gradient.data(),
                  gate_gradient.data());
  expect_near(gate_gradient, slopes(expected, weights, gate), 1e-5);
  expect_near(gradient, slopes(expected, weights, up), 1e-5);
}

TEST_P(Rows, HeadsAreTurnedByTheirPosition) {
  const HeadShape shape{.sequences = 2, .length = 3, .heads = 2, .size = 2 * width()};
  const size_t floats = 2 * 3 * 2 * 2 * size();
  Values expected = random_values(floats, 1);
  std::vector<float> heads = to_floats(expected);
  const std::vector<float> before = heads;
  for (size_t row = 0; row < 12; ++row)
    reference::turn(row % 3, 2 * size(), 500, expected.data() + row * 2 * size());
  std::vector<float> frequencies(size());
  rotary_frequencies(shape.size, 500, {}, frequencies.data());
  rotate(shape, frequencies.data(), false, heads.data());
  expect_near(heads, expected, 1e-6);
  rotate(shape, frequencies.data(), true, heads.data());
  expect_near(heads, {before.begin(), before.end()}, 1e-6);
}

// By the definition in Hugging Face's release of Llama 3.1, for heads of 32 there, in fp64.
TEST(Rotary, SlowTurnsAreScaled) {
  std::vector<float> plain(16), scaled(16);
  rotary_frequencies(32, 500000, {}, plain.data());
  rotary_frequencies(32, 500000, {8192, 8, 1, 4}, scaled.data());
  for (size_t at = 0; at < 8; ++at) EXPECT_EQ(scaled[at], plain[at]) << "turns more than 4 times";
  EXPECT_FLOAT_EQ(scaled[8], 0.000524846161f) << "turns 1.84 times";
  EXPECT_FLOAT_EQ(scaled[9], 7.78465527e-05f);
  for (size_t at = 9; at < 16; ++at) EXPECT_EQ(scaled[at], plain[at] / 8) << "turns less than once";
}

TEST(Rotary, AnglesOfAnySizeAreExact) {
  for (const float angle : {0.0f, 0.5f, 1.0f, 2.0f, 3.0f, 4.0f, 5.5f, 100.3f, 4095.0f, 131071.4f, 1e7f}) {
    const parts::Turn turn = parts::turn_of(angle);
    EXPECT_NEAR(turn.cosine, std::cos(static_cast<double>(angle)), 6e-8) << angle;
    EXPECT_NEAR(turn.sine, std::sin(static_cast<double>(angle)), 6e-8) << angle;
  }
}

TEST_P(Rows, BiasAndGelu) {
  const Values without = random_values(all(), 1);
  const Values bias = random_values(size(), 2);
  const Values weights = random_values(all(), 3);
  Values x = without;
  for (size_t at = 0; at < all(); ++at)
    x[at] = static_cast<double>(static_cast<float>(x[at]) + static_cast<float>(bias[at % size()]));
  const auto expected = [&] {
    Values out;
    for (const double value : x) out.push_back(reference::gelu(value));
    return out;
  };

  std::vector<float> biased = to_floats(without);
  std::vector<float> out(all());
  bias_gelu_forward(kRows, width(), biased.data(), to_floats(bias).data(), out.data());
  EXPECT_EQ(biased, to_floats(x));
  expect_near(out, expected(), 1e-6);
  std::vector<float> again(all());
  gelu_forward(kRows * width(), biased.data(), again.data());
  EXPECT_EQ(again, out);

  std::vector<float> gradient = to_floats(weights);
  gelu_backward(kRows * width(), biased.data(), gradient.data());
  expect_near(gradient, slopes(expected, weights, x), 1e-5);

  std::vector<float> bias_gradient(size());
  bias_backward(kRows, width(), to_floats(weights).data(), bias_gradient.data());
  Values sums(size());
  for (size_t at = 0; at < all(); ++at) sums[at % size()] += weights[at];
  expect_near(bias_gradient, sums, 1e-6);
}

TEST_P(Rows, CausalSoftmax) {
  const size_t length = size();
  Values scores = random_values(length * length, 1);
  const Values weights = random_values(length * length, 2);
  const double scale = 0.25;
  const auto expected = [&] { return reference::causal_softmax(length, scale, scores.data()); };

  // A second matrix shows that each begins where the last ended.
  std::vector<float> probabilities = to_floats(scores);
  probabilities.insert(probabilities.end(), probabilities.begin(), probabilities.end());
  causal_softmax_forward(
      CausalSoftmaxForward{2, width(), width(), 0, {}, static_cast<float>(scale), probabilities.data()});
  const auto half = probabilities.begin() + static_cast<Index>(length * length);
  expect_near({probabilities.begin(), half}, expected(), 1e-6);
  EXPECT_TRUE(std::equal(probabilities.begin(), half, half));

  std::vector<float> gradient = to_floats(weights);
  causal_softmax_backward(CausalSoftmaxBackward{
      1, width(), width(), 0, {}, static_cast<float>(scale), probabilities.data(), gradient.data()});
  expect_near(gradient, slopes(expected, weights, scores), 1e-6);

  // The last three rows alone, as a tile of the square.
  const Index before = (width() - 3) * width();
  std::vector<float> tile = to_floats(scores), tile_gradient = to_floats(weights);
  tile.erase(tile.begin(), tile.begin() + before);
  tile_gradient.erase(tile_gradient.begin(), tile_gradient.begin() + before);
  causal_softmax_forward(
      CausalSoftmaxForward{1, 3, width(), width() - 3, {}, static_cast<float>(scale), tile.data()});
  EXPECT_TRUE(std::equal(tile.begin(), tile.end(), probabilities.begin() + before));
  causal_softmax_backward(CausalSoftmaxBackward{
      1, 3, width(), width() - 3, {}, static_cast<float>(scale), tile.data(), tile_gradient.data()});
  EXPECT_TRUE(std::equal(tile_gradient.begin(), tile_gradient.end(), gradient.begin() + before));
}

TEST_P(Rows, CrossEntropy) {
  Values logits = random_values(all(), 1);
  const std::vector<Token> targets{0, 4, 2};
  std::vector<float> losses(kRows);
  cross_entropy_forward(kRows, width(), to_floats(logits).data(), targets.data(), losses.data());
  for (size_t row = 0; row < kRows; ++row)
    EXPECT_NEAR(static_cast<double>(losses[row]),
                reference::cross_entropy(1, size(), logits.data() + row * size(), targets.data() + row),
                2e-6);

  std::vector<float> gradient(all());
  cross_entropy_backward(kRows, width(), 0.5f, to_floats(logits).data(), targets.data(), gradient.data());
  Values expected;
  for (double& logit : logits)
    expected.push_back(
        0.5 *
        slope([&] { return reference::cross_entropy(kRows, size(), logits.data(), targets.data()); }, logit));
  expect_near(gradient, expected, 1e-6);
}

TEST(CrossEntropy, LargeLogitsDoNotOverflow) {
  const std::vector<float> logits{1000.0f, -1000.0f, 0.0f};
  const Token target = 1;
  float loss = 0;
  cross_entropy_forward(1, 3, logits.data(), &target, &loss);
  EXPECT_FLOAT_EQ(loss, 2000.0f);
}

TEST_P(Rows, EmbeddingAddsTokenAndPosition) {
  const Values tokens_table = random_values(4 * size(), 1);
  const Values positions_table = random_values(2 * size(), 2);
  const std::vector<Token> tokens{3, 1, 3, 0};  // two sequences of two
  std::vector<float> out(4 * size());
  embedding_forward(4, 2, width(), tokens.data(), to_floats(tokens_table).data(),
                    to_floats(positions_table).data(), out.data());
  const Values out_gradient = random_values(4 * size(), 3);
  std::vector<float> token_gradient(4 * size());
  std::vector<float> position_gradient(2 * size());
  embedding_backward(4, 2, width(), tokens.data(), to_floats(out_gradient).data(), token_gradient.data(),
                     position_gradient.data());

  Values expected(4 * size());
  Values token_expected(4 * size());
  Values position_expected(2 * size());
  for (size_t row = 0; row < 4; ++row) {
    for (size_t at = 0; at < size(); ++at) {
      expected[row * size() + at] =
          tokens_table[tokens[row] * size() + at] + positions_table[row % 2 * size() + at];
      token_expected[tokens[row] * size() + at] += out_gradient[row * size() + at];
      position_expected[row % 2 * size() + at] += out_gradient[row * size() + at];
    }
  }
  expect_near(out, expected, 1e-6);
  expect_near(token_gradient, token_expected, 1e-6);
  expect_near(position_gradient, position_expected, 1e-6);

  // Without a table of positions.
  std::vector<float> plain(4 * size()), plain_gradient(4 * size());
  embedding_forward(4, 2, width(), tokens.data(), to_floats(tokens_table).data(), nullptr, plain.data());
  for (size_t row = 0; row < 4; ++row)
    for (size_t at = 0; at < size(); ++at)
      ASSERT_EQ(plain[row * size() + at], static_cast<float>(tokens_table[tokens[row] * size() + at]));
  embedding_backward(4, 2, width(), tokens.data(), to_floats(out_gradient).data(), plain_gradient.data(),
                     nullptr);
  EXPECT_EQ(plain_gradient, token_gradient);
}

TEST_P(Rows, HeadsAreCutAndJoined) {
  const HeadShape shape{.sequences = 2, .length = 3, .heads = 2, .size = width()};
  const size_t model_width = 2 * size();
  const std::vector<float> rows = to_floats(random_values(6 * 3 * model_width, 1));
  const std::vector<float> bias = to_floats(random_values(3 * model_width, 2));
  std::vector<std::vector<float>> parts(3, std::vector<float>(6 * model_width));
  split_queries_keys_values(shape, rows.data(), bias.data(), parts[0].data(), parts[1].data(),
                            parts[2].data());
  for (size_t row = 0; row < 6; ++row)
    for (size_t column = 0; column < 3 * model_width; ++column) {
      const size_t head = column % model_width / size();
      const size_t by_head = ((row / 3 * 2 + head) * 3 + row % 3) * size() + column % size();
      ASSERT_EQ(parts[column / model_width][by_head], rows[row * 3 * model_width + column] + bias[column]);
    }

  std::vector<float> joined(rows.size());
  join_queries_keys_values(shape, parts[0].data(), parts[1].data(), parts[2].data(), joined.data());
  for (size_t at = 0; at < rows.size(); ++at) ASSERT_EQ(joined[at], rows[at] + bias[at % bias.size()]);
  std::vector<float> one(6 * model_width);
  std::vector<float> back(6 * model_width);
  join_heads(shape, parts[1].data(), one.data());
  split_heads(shape, one.data(), back.data());
  EXPECT_EQ(back, parts[1]);
  EXPECT_EQ(one[0], rows[model_width] + bias[model_width]);
}

TEST(Elements, Bfloat16RoundsToNearestTiesToEven) {
  // 1 + 2^-7 is the number after 1; halves between go to the even one.
  const std::vector<float> from{
      1.0f, 1.0f + 0x1p-8f, 1.0f + 3 * 0x1p-8f, 1.0f + 0x1.01p-8f, -1.0f - 0x1.01p-8f, 0.0f};
  const std::vector<float> expected{1.0f, 1.0f, 1.0f + 0x1p-6f, 1.0f + 0x1p-7f, -1.0f - 0x1p-7f, 0.0f};
  std::vector<uint16_t> packed(from.size());
  std::vector<float> rounded(from.size());
  to_bfloat16(static_cast<Index>(from.size()), from.data(), packed.data());
  round_to_bfloat16(static_cast<Index>(from.size()), from.data(), rounded.data());
  EXPECT_EQ(rounded, expected);
  for (size_t at = 0; at < from.size(); ++at)
    EXPECT_EQ(std::bit_cast<float>(uint32_t{packed[at]} << 16), expected[at]);
}

TEST(Elements, AdamWFollowsItsFormula) {
  const AdamW settings{.learning_rate = 0.01f,
                       .beta1 = 0.9f,
                       .beta2 = 0.95f,
                       .epsilon = 1e-8f,
                       .weight_decay = 0.1f,
                       .gradient_scale = 0.5f,
                       .step = 3};
  const Values p = random_values(19, 1);
  const Values g = random_values(19, 2);
  const Values m = random_values(19, 3);
  Values v = random_values(19, 4);
  for (double& value : v) value *= value;
  std::vector<float> parameters = to_floats(p);
  std::vector<float> mean = to_floats(m);
  std::vector<float> variance = to_floats(v);
  adamw_step(settings, 19, parameters.data(), to_floats(g).data(), mean.data(), variance.data());
  Values expected;
  for (size_t at = 0; at < p.size(); ++at) {
    const double first = 0.9 * m[at] + 0.1 * 0.5 * g[at];
    const double second = 0.95 * v[at] + 0.05 * 0.25 * g[at] * g[at];
    const double move = first / (1 - std::pow(0.9, 3)) / (std::sqrt(second / (1 - std::pow(0.95, 3))) + 1e-8);
    expected.push_back(p[at] - 0.01 * (move + 0.1 * p[at]));
  }
  expect_near(parameters, expected, 1e-6);
}

TEST(Lanes, ExponentialIsWithinTwoUnits) {
  double worst = 0;
  for (float x = -87.0f; x < 88.0f; x += 0.0137f) {
    float values[kLanes];
    store(values, exponential(all(x)));
    const double exact = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(static_cast<double>(values[5]) - exact) / exact);
  }
  EXPECT_LT(worst, 2 * 0x1p-23);
}

}  // namespace
}  // namespace weir::trainer
