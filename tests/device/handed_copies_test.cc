// SPDX-License-Identifier: Apache-2.0

#include "src/device/handed_copies.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace weir::device {
namespace {

/// Uses `ways` many times at these costs. Returns how many uses went the second way.
int use(TwoWays& ways, int uses, float first, float second) {
  int seconds = 0;
  for (int i = 0; i < uses; ++i) {
    const int way = ways.next();
    seconds += way;
    ways.took(way == 0 ? first : second);
  }
  return seconds;
}

TEST(TwoWays, StayWithTheFirstIfItCostsLess) {
  TwoWays ways;
  EXPECT_LT(use(ways, 10'000, 1, 2.5f), 10'000 / 50);
}

TEST(TwoWays, FindTheSecondIfItCostsLess) {
  TwoWays ways;
  EXPECT_GT(use(ways, 1'000, 2.5f, 1), 950);
  EXPECT_GT(use(ways, 10'000, 2.5f, 1), 9'800);
}

TEST(TwoWays, StayIfBothCostAboutTheSame) {
  TwoWays ways;
  EXPECT_LT(use(ways, 10'000, 1, 0.95f), 10'000 / 10);
}

TEST(TwoWays, FollowAChangeAtOnce) {
  TwoWays ways;
  use(ways, 1'000, 1, 2.5f);
  EXPECT_GT(use(ways, 100, 10, 5), 80);  // both processes are far from each other now
  EXPECT_LT(use(ways, 2'000, 1, 2.5f), 700);
}

TEST(TwoWays, DoNotBelieveSingleSlowUses) {
  TwoWays ways;
  use(ways, 100, 1, 2.5f);
  int seconds = 0;
  for (int i = 0; i < 10'000; ++i) {
    const int way = ways.next();
    seconds += way;
    ways.took(i % 5 == 0 ? 1'000.0f : way == 0 ? 1.0f : 2.5f);  // somebody else takes the core
  }
  EXPECT_LT(seconds, 10'000 / 50);
}

TEST(HandedCopies, CopyAnySize) {
  HandedCopies copies;
  for (const size_t bytes : {0, 1, 4'095, 16'383, 16'384, 16'385, 100'003, 1 << 20, 5 << 20}) {
    std::vector<unsigned char> from(bytes + 3), to(bytes + 3);
    for (int i = 0; i < 20; ++i) {  // both ways
      for (size_t k = 0; k < from.size(); ++k)
        from[k] = static_cast<unsigned char>(k * 7 + static_cast<size_t>(i));
      std::fill(to.begin(), to.end(), 0xEE);
      copies.copy(to.data() + 1, from.data() + 2, bytes);
      ASSERT_TRUE(bytes == 0 || std::memcmp(to.data() + 1, from.data() + 2, bytes) == 0) << bytes;
      ASSERT_EQ(to[0], 0xEE);
      ASSERT_EQ(to[bytes + 1], 0xEE);
    }
  }
}

}  // namespace
}  // namespace weir::device
