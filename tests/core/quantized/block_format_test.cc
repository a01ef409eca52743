// SPDX-License-Identifier: Apache-2.0
/// Encoded blocks: bounds of the errors, against the exact conversions where there are some, and what is not
/// finite.
#include "src/core/quantized/block_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "src/device/float_format.h"

namespace weir::core {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr BlockFormat kFormats[] = {BlockFormat::int8, BlockFormat::float8, BlockFormat::bfloat16};

std::vector<float> rounded(BlockFormat format, const std::vector<float>& values, RandomPlace random = {}) {
  std::vector<float> result(values.size());
  round(format, values, random, result);
  return result;
}

/// Of every magnitude that a float can have, if `wide`.
std::vector<float> random_values(size_t count, bool wide, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> exponent(-140, 126);
  std::vector<float> values(count);
  const int scale = exponent(random);
  for (float& value : values) value = std::ldexp(normal(random) / 4, wide ? exponent(random) : scale);
  return values;
}

/// The bound of weir/quantized.h for element `at`.
double bound(BlockFormat format, const std::vector<float>& values, size_t at) {
  const size_t first = at / kBlockElements * kBlockElements;
  double most = 0;
  for (size_t i = first; i < std::min(first + kBlockElements, values.size()); ++i)
    most = std::max(most, std::abs(static_cast<double>(values[i])));
  const double own = std::abs(static_cast<double>(values[at]));
  if (format == BlockFormat::bfloat16) return std::max(own / 128, 0x1p-133);
  if (most < 0x1p-100) return own;
  return format == BlockFormat::int8 ? most / 253 : std::max(own / 15.9, most / 400'000);
}

TEST(BlockFormat, OneRoundingKeepsToItsBound) {
  for (const BlockFormat format : kFormats)
    for (uint32_t seed = 0; seed < 400; ++seed) {
      const std::vector<float> values = random_values(1 + seed * 7 % 300, seed % 2 == 0, seed);
      const std::vector<float> result = rounded(format, values, {.seed = seed});
      for (size_t at = 0; at < values.size(); ++at)
        ASSERT_LE(std::abs(static_cast<double>(result[at]) - static_cast<double>(values[at])),
                  bound(format, values, at))
            << "format " << static_cast<int>(format) << ", seed " << seed << ", element " << at << ": "
            << values[at];
    }
}

/// A block of which the largest magnitude is 448 has the scale 1.
TEST(BlockFormat, Float8IsTheNearestNumberOfE4m3) {
  std::vector<float> values(kBlockElements);
  for (float at = -448; at <= 448; at += 0.37F) {
    for (size_t i = 0; i < kBlockElements; ++i)
      values[i] = std::ldexp(at, -static_cast<int>(i % 22)) * (i % 3 == 0 ? 1 : 0.999F);
    values.back() = 448;
    const std::vector<float> result = rounded(BlockFormat::float8, values);
    for (size_t i = 0; i < kBlockElements; ++i)
      ASSERT_EQ(result[i], device::Float8E4M3::to_float(device::Float8E4M3::encode(values[i]))) << values[i];
  }
}

TEST(BlockFormat, TheLargestAndTheSmallestNumbersStayFinite) {
  for (const BlockFormat format : {BlockFormat::int8, BlockFormat::float8})
    for (const float most : {std::numeric_limits<float>::max(), 0x1p-100F, 0x1p-126F}) {
      const std::vector<float> values = {most, -most, most / 2, 0, -0.0F};
      const std::vector<float> result = rounded(format, values);
      for (size_t at = 0; at < values.size(); ++at) {
        EXPECT_TRUE(std::isfinite(result[at])) << most;
        EXPECT_LE(std::abs(static_cast<double>(result[at]) - static_cast<double>(values[at])),
                  bound(format, values, at));
      }
    }
}

TEST(BlockFormat, WhatIsNotFiniteStaysVisible) {
  for (const float wrong : {kInf, -kInf, kNaN, -kNaN})
    for (const size_t place : {size_t{0}, size_t{100}, size_t{127}, size_t{128}, size_t{199}}) {
      std::vector<float> values(200, 0.5F);
      values[place] = wrong;
      for (const BlockFormat format : {BlockFormat::int8, BlockFormat::float8}) {
        const std::vector<float> result = rounded(format, values);
        for (size_t at = 0; at < values.size(); ++at)
          EXPECT_EQ(std::isnan(result[at]), at / kBlockElements == place / kBlockElements) << at;
      }
      const std::vector<float> result = rounded(BlockFormat::bfloat16, values, {.seed = 5});
      for (size_t at = 0; at < values.size(); ++at) {
        EXPECT_TRUE(at == place || result[at] == 0.5F);
      }
      EXPECT_EQ(std::isnan(result[place]), std::isnan(wrong));
      EXPECT_TRUE(std::isnan(wrong) || result[place] == wrong);
    }
}

TEST(BlockFormat, StochasticRoundingIsRightOnAverage) {
  const float value = 1.0F + 0x1.4p-8F;  // 5/8 of the way to the next bf16
  const std::vector<float> values(1 << 16, value);
  const std::vector<float> result = rounded(BlockFormat::bfloat16, values, {.seed = 3});
  const auto upper = static_cast<double>(std::ranges::count(result, 1.0F + 0x1p-7F));
  const auto lower = static_cast<double>(std::ranges::count(result, 1.0F));
  EXPECT_EQ(upper + lower, values.size());
  EXPECT_NEAR(upper / static_cast<double>(values.size()), 0.625, 0.01);  // five standard deviations
}

TEST(BlockFormat, RandomNumbersDependOnSeedStreamAndPosition) {
  const std::vector<float> values = random_values(1000, false, 9);
  const RandomPlace random{.seed = 1, .stream = 2, .position = 3};
  const std::vector<float> all = rounded(BlockFormat::bfloat16, values, random);
  EXPECT_EQ(all, rounded(BlockFormat::bfloat16, values, random));
  EXPECT_NE(all, rounded(BlockFormat::bfloat16, values, {.seed = 2, .stream = 2, .position = 3}));
  EXPECT_NE(all, rounded(BlockFormat::bfloat16, values, {.seed = 1, .stream = 3, .position = 3}));
  // Parts round as the whole does.
  for (const size_t first : {size_t{1}, size_t{5}, size_t{8}, size_t{333}}) {
    const std::vector<float> part(values.begin() + static_cast<ptrdiff_t>(first), values.end());
    const std::vector<float> result =
        rounded(BlockFormat::bfloat16, part, {.seed = 1, .stream = 2, .position = 3 + first});
    EXPECT_TRUE(std::ranges::equal(
        result, std::vector<float>(all.begin() + static_cast<ptrdiff_t>(first), all.end())));
  }
}

TEST(BlockFormat, BytesAndTheirPadding) {
  EXPECT_EQ(encoded_bytes(BlockFormat::int8, 0), 0u);
  EXPECT_EQ(encoded_bytes(BlockFormat::int8, 1), 8u);
  EXPECT_EQ(encoded_bytes(BlockFormat::float8, 128), 132u);
  EXPECT_EQ(encoded_bytes(BlockFormat::int8, 129), 140u);
  EXPECT_EQ(encoded_bytes(BlockFormat::bfloat16, 3), 8u);
  for (const BlockFormat format : kFormats)
    for (size_t count = 0; count < 300; ++count) {
      const std::vector<float> values = random_values(count, false, 4);
      const size_t bytes = encoded_bytes(format, count);
      std::vector<std::byte> ones(bytes + 1, std::byte{1}), twos(bytes + 1, std::byte{2});
      encode(format, values, {}, ones.data());
      encode(format, values, {}, twos.data());
      EXPECT_EQ(ones.back(), std::byte{1});
      ones.pop_back(), twos.pop_back();
      EXPECT_EQ(ones, twos) << "every byte is written";
      std::vector<float> sum(count, 1), decoded(count);
      decode_add(format, ones.data(), sum);
      decode(format, ones.data(), decoded);
      EXPECT_EQ(decoded, rounded(format, values));
      for (size_t at = 0; at < count; ++at) EXPECT_EQ(sum[at], 1 + decoded[at]);
    }
}

}  // namespace
}  // namespace weir::core
