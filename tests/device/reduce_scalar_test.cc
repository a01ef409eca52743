// SPDX-License-Identifier: Apache-2.0
/// The scalar definitions against arithmetic in double precision and brute force.
#include "src/device/reduce_scalar.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <type_traits>

#include "src/device/float_format.h"
#include "tests/device/reduce_operations.h"

namespace weir::device {
namespace {

template <typename T>
T apply(DataType type, RedOp op, T a, T b) {
  const void* src[] = {&a, &b};
  T result{};
  scalar::fold(type, op, &result, src, 2, 1);
  return result;
}

/// The nearest finite value of a float8 format, found by looking at all of them.
template <typename Format>
uint8_t nearest(double value) {
  if (std::isnan(value)) return Format::kNaN;
  const uint8_t sign = std::signbit(value) ? Format::kSign : 0;
  int best = 0;
  for (int code = 0; code <= Format::kLargest; ++code) {
    const double distance = std::abs(std::abs(value) - Format::decode(static_cast<uint8_t>(code)));
    const double least = std::abs(std::abs(value) - Format::decode(static_cast<uint8_t>(best)));
    if (distance < least || (distance == least && code % 2 == 0)) best = code;
  }
  if (std::isinf(value)) best = Format::kLargest;
  return static_cast<uint8_t>(best | sign);
}

template <typename Format>
void check_all_pairs(DataType type) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const auto x = static_cast<uint8_t>(a);
      const auto y = static_cast<uint8_t>(b);
      const double u = Format::decode(x);
      const double v = Format::decode(y);
      // Sums and products of float8 are exact in double precision.
      ASSERT_EQ(apply(type, RedOp::sum, x, y), nearest<Format>(u + v)) << a << " + " << b;
      ASSERT_EQ(apply(type, RedOp::prod, x, y), nearest<Format>(u * v)) << a << " * " << b;
      for (const RedOp op : {RedOp::max, RedOp::min}) {
        const uint8_t result = apply(type, op, x, y);
        ASSERT_TRUE(result == x || result == y);
        ASSERT_EQ(result, apply(type, op, y, x)) << "commutative";
        if (std::isnan(u) && std::isnan(v)) continue;
        const double expected = op == RedOp::max ? std::fmax(u, v) : std::fmin(u, v);
        ASSERT_EQ(Format::decode(result), expected) << a << " " << b;
        if (u == 0 && v == 0) {
          ASSERT_EQ(std::signbit(Format::decode(result)), op == RedOp::max
                                                              ? std::signbit(u) && std::signbit(v)
                                                              : std::signbit(u) || std::signbit(v));
        }
      }
    }
  }
}

TEST(ReduceScalar, EveryPairOfFloat8E4M3) { check_all_pairs<Float8E4M3>(DataType::float8e4m3); }
TEST(ReduceScalar, EveryPairOfFloat8E5M2) { check_all_pairs<Float8E5M2>(DataType::float8e5m2); }

/// Rounding a double result to 16 bits equals the float32 way, except where float32 itself had to round
/// first.
template <typename Format>
void check_random_16(DataType type) {
  std::mt19937 random(7);
  for (int i = 0; i < 300000; ++i) {
    const auto x = static_cast<uint16_t>(random());
    const auto y = static_cast<uint16_t>(random());
    const auto u = static_cast<float>(Format::decode(x));
    const auto v = static_cast<float>(Format::decode(y));
    const auto round = [](double value) { return Format::encode(static_cast<float>(value)); };
    ASSERT_EQ(apply(type, RedOp::sum, x, y), round(double{u} + double{v})) << x << " " << y;
    ASSERT_EQ(apply(type, RedOp::prod, x, y), round(double{u} * double{v})) << x << " " << y;
    for (const RedOp op : {RedOp::max, RedOp::min}) {
      const uint16_t result = apply(type, op, x, y);
      ASSERT_EQ(result, apply(type, op, y, x));
      const float expected = op == RedOp::max ? std::fmax(u, v) : std::fmin(u, v);
      if (!std::isnan(expected)) {
        ASSERT_EQ(Format::decode(result), expected);
      }
    }
  }
}

TEST(ReduceScalar, RandomFloat16) { check_random_16<Float16>(DataType::float16); }
TEST(ReduceScalar, RandomBFloat16) { check_random_16<BFloat16>(DataType::bfloat16); }

TEST(ReduceScalar, Float32SpecialValues) {
  const auto type = DataType::float32;
  const auto bits = [](float f) { return std::bit_cast<uint32_t>(f); };
  EXPECT_EQ(bits(apply(type, RedOp::sum, INFINITY, -INFINITY)), 0x7fffffffu);
  EXPECT_EQ(bits(apply(type, RedOp::prod, -NAN, 2.0f)), 0x7fffffffu);
  EXPECT_EQ(apply(type, RedOp::max, NAN, -3.0f), -3.0f);
  EXPECT_EQ(apply(type, RedOp::min, -3.0f, -NAN), -3.0f);
  EXPECT_EQ(bits(apply(type, RedOp::max, -0.0f, 0.0f)), 0u);
  EXPECT_EQ(bits(apply(type, RedOp::min, 0.0f, -0.0f)), 0x80000000u);
  EXPECT_EQ(apply(type, RedOp::sum, 1e-45f, 1e-45f), 2.8e-45f) << "denormals are kept";
  EXPECT_EQ(apply(type, RedOp::max, -INFINITY, INFINITY), INFINITY);
}

template <typename T>
void check_integers(DataType type) {
  std::mt19937_64 random(11);
  using Wide = __int128;
  for (int i = 0; i < 20000; ++i) {
    const T a = i < 400 ? static_cast<T>(Wide{std::numeric_limits<T>::min()} + i / 20 - 10)
                        : static_cast<T>(random());
    const T b = i < 400 ? static_cast<T>(Wide{std::numeric_limits<T>::max()} - i % 20 + 10)
                        : static_cast<T>(random());
    ASSERT_EQ(apply(type, RedOp::sum, a, b), static_cast<T>(Wide{a} + Wide{b}));
    using Unsigned = unsigned __int128;
    ASSERT_EQ(apply(type, RedOp::prod, a, b),
              static_cast<T>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b)));
    ASSERT_EQ(apply(type, RedOp::max, a, b), std::max(a, b));
    ASSERT_EQ(apply(type, RedOp::min, a, b), std::min(a, b));
  }
}

TEST(ReduceScalar, IntegersWrap) {
  check_integers<int8_t>(DataType::int8);
  check_integers<uint8_t>(DataType::uint8);
  check_integers<int32_t>(DataType::int32);
  check_integers<uint32_t>(DataType::uint32);
  check_integers<int64_t>(DataType::int64);
  check_integers<uint64_t>(DataType::uint64);
}

TEST(ReduceScalar, FoldOverManyIsFoldsOverTwo) {
  std::mt19937 random(3);
  for (int kind = 0; kind < kDataTypes; ++kind) {
    const auto type = static_cast<DataType>(kind);
    for (const RedOp op : kOps) {
      constexpr size_t kCount = 64;
      unsigned char data[5][kCount * 8];
      for (auto& row : data) {
        for (auto& byte : row) byte = static_cast<unsigned char>(random());
      }
      const void* src[] = {data[0], data[1], data[2], data[3], data[4]};
      unsigned char at_once[kCount * 8] = {};
      scalar::fold(type, op, at_once, src, 5, kCount);
      unsigned char pairwise[kCount * 8] = {};
      std::memcpy(pairwise, data[0], sizeof(pairwise));
      for (int k = 1; k < 5; ++k) {
        const void* pair[] = {pairwise, data[k]};
        scalar::fold(type, op, pairwise, pair, 2, kCount);
      }
      ASSERT_EQ(std::memcmp(at_once, pairwise, kCount * size_of(type)), 0) << name(type) << " " << name(op);
    }
  }
}

TEST(ReduceScalar, Ratio) {
  const auto as = []<typename T>(Scalar scalar, T value) {
    std::memcpy(&value, scalar.bits, sizeof(T));
    return value;
  };
  EXPECT_EQ(as(ratio(DataType::float32, 1, 3), 0.0f), 1.0f / 3.0f);
  EXPECT_EQ(as(ratio(DataType::float64, 1, 3), 0.0), 1.0 / 3.0);
  EXPECT_EQ(as(ratio(DataType::float16, 1, 3), uint16_t{}), 0x3555);
  EXPECT_EQ(as(ratio(DataType::bfloat16, 1, 3), uint16_t{}), 0x3eab);
  EXPECT_EQ(as(ratio(DataType::float8e4m3, 1, 3), uint8_t{}), 0x2b);
  EXPECT_EQ(as(ratio(DataType::float8e5m2, 1, 2), uint8_t{}), 0x38);
}

}  // namespace
}  // namespace weir::device
