// SPDX-License-Identifier: Apache-2.0

#include "src/base/scheduling_delay.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(SchedulingDelay, GrowsWithTheLongestDelayOnly) {
  SchedulingDelay delay;
  EXPECT_EQ(delay.allowance_ns(), 0);
  delay.note(500);
  delay.note(20);
  delay.note(-3);
  EXPECT_EQ(delay.worst_ns(), 500);
  EXPECT_EQ(delay.allowance_ns(), 500 * SchedulingDelay::kFactor);
}

}  // namespace
}  // namespace weir
