// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/turns.h"

#include <gtest/gtest.h>

#include <chrono>

#include "trainer/run/world.h"

namespace weir::trainer {
namespace {

TEST(Turns, EndAfterAWhileAndNotBefore) {
  EXPECT_TRUE(takes_another_turn(1, 100));  // slow ones are repeated as well
  EXPECT_TRUE(takes_another_turn(50, 0.01));
  EXPECT_FALSE(takes_another_turn(3, 1.5));
  EXPECT_FALSE(takes_another_turn(5, 0.2));
}

TEST(Turns, TheMiddleOneCounts) {
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({9, 1, 100, 2, 3}), 3);
}

TEST(Turns, RepeatsShortWorkUntilItFillsManyTimeSlices) {
  auto world = World::alone();
  ASSERT_TRUE(world.ok()) << world.status().message();
  using Clock = std::chrono::steady_clock;
  constexpr auto kLength = std::chrono::microseconds(200);
  int times = 0;
  const auto found = usual_seconds(world->comm(), [&] {
    ++times;
    for (const auto begin = Clock::now(); Clock::now() - begin < kLength;) {
    }
  });
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_GE(*found, 200e-6);
  // At least once before, once to see how long it takes, and in the turns.
  EXPECT_GE(times, 5);
}

}  // namespace
}  // namespace weir::trainer
