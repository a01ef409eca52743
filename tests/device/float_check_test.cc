// SPDX-License-Identifier: Apache-2.0

#include "src/device/float_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "src/device/float_format.h"

namespace weir::device {
namespace {

/// Every code of a format of one or two bytes, against its exact value.
template <typename Format>
void check_all_codes(DataType type) {
  using Bits = typename Format::Storage;
  for (uint32_t code = 0; code <= std::numeric_limits<Bits>::max(); ++code) {
    const auto bits = static_cast<Bits>(code);
    const bool finite = std::isfinite(Format::to_float(bits));
    ASSERT_EQ(first_nan_or_inf(type, &bits, 1).has_value(), !finite) << code;
  }
}

TEST(FloatCheck, EveryCodeOfTheSmallFormats) {
  check_all_codes<Float16>(DataType::float16);
  check_all_codes<BFloat16>(DataType::bfloat16);
  check_all_codes<Float8E4M3>(DataType::float8e4m3);
  check_all_codes<Float8E5M2>(DataType::float8e5m2);
}

template <typename Float>
void check_places(DataType type) {
  using Limits = std::numeric_limits<Float>;
  for (const size_t count : {1, 2, 63, 2047, 2048, 2049, 5000}) {
    // One byte behind an aligned address.
    std::vector<std::byte> memory(count * sizeof(Float) + 1);
    const auto put = [&](size_t at, Float value) {
      std::memcpy(memory.data() + 1 + at * sizeof(Float), &value, sizeof value);
    };
    for (size_t i = 0; i < count; ++i) put(i, i % 2 == 0 ? Limits::max() : -Limits::denorm_min());
    ASSERT_FALSE(first_nan_or_inf(type, memory.data() + 1, count)) << count;
    for (const size_t at : {count - 1, count / 2, size_t{0}}) {
      for (const Float bad :
           {Limits::quiet_NaN(), Limits::signaling_NaN(), Limits::infinity(), -Limits::infinity()}) {
        put(at, bad);
        ASSERT_EQ(first_nan_or_inf(type, memory.data() + 1, count), at) << count;
      }
    }
  }
}

TEST(FloatCheck, TheFirstOneIsFoundAnywhere) {
  check_places<float>(DataType::float32);
  check_places<double>(DataType::float64);
}

TEST(FloatCheck, IntegersAreFinite) {
  const std::vector<uint64_t> all(100, ~uint64_t{0});
  for (const DataType type : {DataType::int8, DataType::uint8, DataType::int32, DataType::uint32,
                              DataType::int64, DataType::uint64})
    EXPECT_FALSE(first_nan_or_inf(type, all.data(), 100));
}

TEST(FloatCheck, NothingBehindTheEndIsRead) {
  const float bad = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(first_nan_or_inf(DataType::float32, &bad, 0));
}

TEST(FloatCheck, AValueAsText) {
  const auto text = [](DataType type, auto bits) { return nan_or_inf_text(type, &bits); };
  EXPECT_EQ(text(DataType::float32, uint32_t{0x7fc00000}), "NaN (float32 0x7fc00000)");
  EXPECT_EQ(text(DataType::float16, uint16_t{0xfc00}), "-inf (float16 0xfc00)");
  EXPECT_EQ(text(DataType::bfloat16, uint16_t{0x7f80}), "inf (bfloat16 0x7f80)");
  EXPECT_EQ(text(DataType::float8e4m3, uint8_t{0x7f}), "NaN (float8e4m3 0x7f)");
  EXPECT_EQ(text(DataType::float8e5m2, uint8_t{0x7c}), "inf (float8e5m2 0x7c)");
  EXPECT_EQ(text(DataType::float64, uint64_t{0xfff0000000000000}), "-inf (float64 0xfff0000000000000)");
}

}  // namespace
}  // namespace weir::device
