// SPDX-License-Identifier: Apache-2.0

#include "src/base/clock.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Deadline, EndsByTimeOrFlag) {
  std::atomic<bool> abort{false};
  EXPECT_FALSE(Deadline::never().over());
  EXPECT_FALSE(Deadline::in_ms(60'000).over());
  EXPECT_TRUE(Deadline::in_ms(0).over());
  const Deadline never = Deadline::never(&abort);
  const Deadline sooner = never.within_ms(60'000);
  EXPECT_EQ(never.slice_ms(20), 20);
  EXPECT_EQ(sooner.slice_ms(20), 20);
  EXPECT_EQ(sooner.within_ms(-1).slice_ms(20), 0);
  EXPECT_LT(sooner.ns(), never.ns());
  EXPECT_FALSE(sooner.over());
  abort = true;
  EXPECT_TRUE(never.over());
  EXPECT_TRUE(sooner.aborted());
  EXPECT_FALSE(sooner.passed());
}

TEST(Deadline, TheEarlierCounts) {
  EXPECT_EQ(Deadline::at(5).within_ms(60'000).ns(), 5);
  EXPECT_LT(Deadline::in_ms(60'000).within_ms(10).ns(), now_ns() + 30'000 * kNsPerMs);
}

}  // namespace
}  // namespace weir
