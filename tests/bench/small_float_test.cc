// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/small_float.h"

#include <gtest/gtest.h>

namespace weir::perf {
namespace {

template <typename T>
class SmallFloats : public ::testing::Test {};
using Types = ::testing::Types<Half, BFloat16, Float8E4M3, Float8E5M2>;
TYPED_TEST_SUITE(SmallFloats, Types);

TYPED_TEST(SmallFloats, EveryValueSurvivesTheWayThere) {
  for (uint32_t bits = 0; bits < 1u << (8 * sizeof(TypeParam)); ++bits) {
    TypeParam value{static_cast<decltype(TypeParam::bits)>(bits)};
    auto wide = static_cast<double>(value);
    if (std::isnan(wide))
      EXPECT_TRUE(std::isnan(static_cast<double>(TypeParam::from(wide))));
    else
      EXPECT_EQ(TypeParam::from(wide).bits, bits) << wide;
  }
}

TYPED_TEST(SmallFloats, HalfwayGoesToEven) {
  for (uint32_t bits = 0; bits < 0x40; ++bits) {
    double low = static_cast<double>(TypeParam{static_cast<decltype(TypeParam::bits)>(bits)});
    double high = static_cast<double>(TypeParam{static_cast<decltype(TypeParam::bits)>(bits + 1)});
    EXPECT_EQ(TypeParam::from((low + high) / 2).bits, bits + bits % 2);
    EXPECT_EQ(TypeParam::from(low * 0.51 + high * 0.49).bits, bits);
  }
}

TEST(SmallFloat, HasTheKnownEncodings) {
  EXPECT_EQ(Half::from(1).bits, 0x3c00);
  EXPECT_EQ(Half::from(-65504).bits, 0xfbff);
  EXPECT_EQ(Half::from(65520).bits, 0x7c00);
  EXPECT_EQ(Half::from(0x1p-24).bits, 1);
  EXPECT_EQ(BFloat16::from(1).bits, 0x3f80);
  EXPECT_EQ(Float8E4M3::from(448).bits, 0x7e);
  EXPECT_EQ(Float8E4M3::from(1).bits, 0x38);
  EXPECT_EQ(Float8E4M3::from(1000).bits, 0x7f);
  EXPECT_EQ(Float8E5M2::from(57344).bits, 0x7b);
  EXPECT_EQ(Float8E5M2::from(1e9).bits, 0x7c);
}

}  // namespace
}  // namespace weir::perf
