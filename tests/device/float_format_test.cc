// SPDX-License-Identifier: Apache-2.0

#include "src/device/float_format.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <vector>

namespace weir::device {
namespace {

/// Values known from the formats' definitions.
TEST(FloatFormat, KnownValues) {
  EXPECT_EQ(Float16::decode(0x3c00), 1.0);
  EXPECT_EQ(Float16::decode(0x7bff), 65504.0);
  EXPECT_EQ(Float16::decode(0x0001), std::ldexp(1.0, -24));
  EXPECT_EQ(Float16::decode(0xfc00), -INFINITY);
  EXPECT_EQ(BFloat16::decode(0x3f80), 1.0);
  EXPECT_EQ(BFloat16::decode(0x0001), std::ldexp(1.0, -133));
  EXPECT_EQ(Float8E4M3::decode(0x7e), 448.0);
  EXPECT_EQ(Float8E4M3::decode(0x01), std::ldexp(1.0, -9));
  EXPECT_TRUE(std::isnan(Float8E4M3::decode(0x7f)));
  EXPECT_TRUE(std::isnan(Float8E4M3::decode(0xff)));
  EXPECT_EQ(Float8E5M2::decode(0x7b), 57344.0);
  EXPECT_EQ(Float8E5M2::decode(0x7c), INFINITY);
  EXPECT_TRUE(std::isnan(Float8E5M2::decode(0x7d)));
  EXPECT_TRUE(std::signbit(Float8E5M2::decode(0x80)));
}

TEST(FloatFormat, Overflow) {
  EXPECT_EQ(Float16::encode(65519.99), 0x7bff);
  EXPECT_EQ(Float16::encode(65520.0), 0x7c00);
  EXPECT_EQ(Float16::encode(-1e300), 0xfc00);
  EXPECT_EQ(BFloat16::encode(3.4e38), 0x7f80);
  EXPECT_EQ(BFloat16::encode(-INFINITY), 0xff80);
  EXPECT_EQ(Float8E4M3::encode(464.0), 0x7e);
  EXPECT_EQ(Float8E4M3::encode(1e9), 0x7e);
  EXPECT_EQ(Float8E4M3::encode(-INFINITY), 0xfe);
  EXPECT_EQ(Float8E5M2::encode(61440.0), 0x7b);
  EXPECT_EQ(Float8E5M2::encode(INFINITY), 0x7b);
}

TEST(FloatFormat, NaNsAndZeros) {
  EXPECT_EQ(Float16::encode(NAN), 0x7fff);
  EXPECT_EQ(BFloat16::encode(-NAN), 0x7fff);
  EXPECT_EQ(Float8E4M3::encode(NAN), 0x7f);
  EXPECT_EQ(Float8E5M2::encode(NAN), 0x7f);
  EXPECT_EQ(Float16::encode(-0.0), 0x8000);
  EXPECT_EQ(Float8E4M3::encode(-1e-300), 0x80);
  EXPECT_EQ(BFloat16::encode(5e-324), 0x0000);
}

template <typename Format>
class EveryFloatFormat : public ::testing::Test {};
using Formats = ::testing::Types<Float16, BFloat16, Float8E4M3, Float8E5M2>;
TYPED_TEST_SUITE(EveryFloatFormat, Formats);

TYPED_TEST(EveryFloatFormat, EveryCodeComesBack) {
  using Bits = typename TypeParam::Storage;
  for (int code = 0; code <= std::numeric_limits<Bits>::max(); ++code) {
    const Bits bits = static_cast<Bits>(code);
    const double value = TypeParam::decode(bits);
    ASSERT_EQ(std::isnan(value), TypeParam::is_nan(bits)) << code;
    if (std::isnan(value)) {
      ASSERT_EQ(TypeParam::encode(value), TypeParam::kNaN);
    } else if (std::isinf(value) && TypeParam::encode(1e300) == TypeParam::kLargest) {
      ASSERT_EQ(TypeParam::encode(value) & TypeParam::kNaN, TypeParam::kLargest) << "saturates";
    } else {
      ASSERT_EQ(TypeParam::encode(value), bits) << code;
    }
  }
}

/// Between neighbours: the nearest wins, the middle goes to the even code.
TYPED_TEST(EveryFloatFormat, RoundsToNearestTiesToEven) {
  using Bits = typename TypeParam::Storage;
  for (int code = 0; code < TypeParam::kLargest; ++code) {
    const double low = TypeParam::decode(static_cast<Bits>(code));
    const double high = TypeParam::decode(static_cast<Bits>(code + 1));
    ASSERT_LT(low, high);
    const double middle = low + (high - low) / 2;
    const int even = code % 2 == 0 ? code : code + 1;
    ASSERT_EQ(TypeParam::encode(middle), even) << code;
    ASSERT_EQ(TypeParam::encode(std::nextafter(middle, low)), code);
    ASSERT_EQ(TypeParam::encode(std::nextafter(middle, high)), code + 1);
    ASSERT_EQ(TypeParam::encode(-middle), even | TypeParam::kSign);
  }
}

/// A float32 is a float64, too: both ways must lead to the same code. All exponents, with mantissas that lie
/// at, just below and just above every code and every middle between two.
TYPED_TEST(EveryFloatFormat, FloatsAndDoublesAreRoundedAlike) {
  for (uint32_t field = 0; field < 256; ++field) {
    for (uint32_t top = 0; top < 1024; ++top) {
      for (const uint32_t low : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu}) {
        const uint32_t bits = field << 23 | top << 13 | low;
        for (const uint32_t sign : {0u, 0x80000000u}) {
          const auto value = std::bit_cast<float>(bits | sign);
          ASSERT_EQ(TypeParam::encode(value), TypeParam::encode(static_cast<double>(value))) << value;
        }
      }
    }
  }
}

TYPED_TEST(EveryFloatFormat, OrderIsThatOfTheValues) {
  using Bits = typename TypeParam::Storage;
  for (const bool for_max : {true, false}) {
    std::map<int, Bits> line;
    for (int code = 0; code <= std::numeric_limits<Bits>::max(); ++code) {
      const Bits bits = static_cast<Bits>(code);
      line[to_order(bits, TypeParam::kGreatest, for_max)] = bits;
    }
    ASSERT_EQ(line.size(), size_t{std::numeric_limits<Bits>::max()} + 1) << "no two codes are equal";
    std::vector<double> values;
    for (const auto& [key, bits] : line) values.push_back(TypeParam::decode(bits));
    if (!for_max) std::reverse(values.begin(), values.end());
    const auto first = std::find_if(values.begin(), values.end(), [](double v) { return !std::isnan(v); });
    for (auto it = first; it + 1 != values.end(); ++it) {
      ASSERT_FALSE(std::isnan(it[1])) << "NaNs lie at the losing end only";
      const double step = for_max ? it[1] - it[0] : it[0] - it[1];
      ASSERT_TRUE(step > 0 || (it[0] == 0 && it[1] == 0 && std::signbit(it[0]) == for_max)) << it[0] << it[1];
    }
  }
}

}  // namespace
}  // namespace weir::device
