// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace weir::perf {
namespace {

TEST(ParseSize, TakesSuffixesAndFractions) {
  EXPECT_EQ(parse_size("8"), 8);
  EXPECT_EQ(parse_size("1k"), 1024);
  EXPECT_EQ(parse_size("1.5M"), 1572864);
  EXPECT_EQ(parse_size("2G"), size_t{2} << 30);
  EXPECT_EQ(parse_size("0"), 0);
}

TEST(ParseSize, RefusesWhatIsNoSize) {
  for (const char* text : {"", "x", "8T", "8KB", "-1", "1 K", "1e300", "nan"})
    EXPECT_FALSE(parse_size(text)) << text;
}

TEST(Fit, KeepsAsManyDecimalsAsFit) {
  EXPECT_EQ(fit(0, 7), "0.00");
  EXPECT_EQ(fit(12.345, 7), "12.35");
  EXPECT_EQ(fit(9999.994, 7), "9999.99");
  EXPECT_EQ(fit(24010.51, 7), "24010.5");
  EXPECT_EQ(fit(186123.4, 7), "186123");
  EXPECT_EQ(fit(1861234.0, 7), "1861234");
  EXPECT_EQ(fit(18612345.0, 7), "1.9e+07");
  EXPECT_EQ(fit(123.456, 6), "123.46");
  EXPECT_EQ(fit(1234.56, 6), "1234.6");
  EXPECT_EQ(fit(12345.6, 6), "12346");
  EXPECT_EQ(fit(1234567.0, 6), "1e+06");
}

TEST(Fit, IsNeverWiderThanTheColumn) {
  for (double value = 1e-3; value < 1e30; value *= 1.37) {
    EXPECT_LE(fit(value, 7).size(), 7) << value;
    EXPECT_LE(fit(value, 6).size(), 6) << value;
  }
}

TEST(Fit, PrintsWhatIsNoNumber) {
  EXPECT_EQ(fit(INFINITY, 6), "inf");
  EXPECT_EQ(fit(NAN, 6), "nan");
}

TEST(NowText, LooksLikeATime) {
  EXPECT_THAT(now_text(),
              ::testing::MatchesRegex("20[0-9][0-9]-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9]:[0-9][0-9]"));
}

}  // namespace
}  // namespace weir::perf
