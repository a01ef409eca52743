// SPDX-License-Identifier: Apache-2.0
/// The limiter of gathers: FSDP's sliding window, and block and flush.
#include "trainer/shard/limiter.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace weir::shard {
namespace {

TEST(ShardLimiter, SlidingMakesRoomWithEachRelease) {
  Limiter limiter({Limit::sliding, 2, 0});
  EXPECT_TRUE(limiter.admit(0, 10));
  EXPECT_TRUE(limiter.admit(1, 10));
  EXPECT_FALSE(limiter.admit(2, 10));
  EXPECT_FALSE(limiter.admit(2, 10));
  limiter.release(10);
  EXPECT_TRUE(limiter.admit(2, 10));
  EXPECT_FALSE(limiter.admit(3, 10));
  EXPECT_EQ(limiter.counts().held, 2U);  // 2 and 3, each counted once
  EXPECT_EQ(limiter.counts().most_gathers, 2);
  EXPECT_EQ(limiter.counts().gathers, 3U);
}

TEST(ShardLimiter, BlocksAreFlushedAsAWhole) {
  Limiter limiter({Limit::block, 2, 0});
  EXPECT_TRUE(limiter.admit(0, 10));
  EXPECT_TRUE(limiter.admit(1, 10));
  EXPECT_FALSE(limiter.admit(2, 10));
  limiter.release(10);
  EXPECT_FALSE(limiter.admit(2, 10));
  limiter.release(10);
  EXPECT_TRUE(limiter.admit(2, 10));
  EXPECT_EQ(limiter.counts().flushes, 1U);
  EXPECT_EQ(limiter.counts().held, 1U);
}

TEST(ShardLimiter, ABlockCountsWhatItHasReleased) {
  Limiter limiter({Limit::block, 3, 0});
  EXPECT_TRUE(limiter.admit(0, 10));
  EXPECT_TRUE(limiter.admit(1, 10));
  limiter.release(10);
  EXPECT_TRUE(limiter.admit(2, 10));
  EXPECT_FALSE(limiter.admit(3, 10));  // though only two are under way
}

TEST(ShardLimiter, BytesCountToo) {
  Limiter limiter({Limit::sliding, 0, 100});
  EXPECT_TRUE(limiter.admit(0, 60));
  EXPECT_FALSE(limiter.admit(1, 41));
  EXPECT_TRUE(limiter.admit(1, 40));
  EXPECT_EQ(limiter.counts().most_bytes, 100U);
}

TEST(ShardLimiter, OffAdmitsEverything) {
  Limiter limiter({Limit::off, 1, 1});
  for (uint64_t number = 0; number < 50; ++number) EXPECT_TRUE(limiter.admit(number, 1000));
  EXPECT_EQ(limiter.counts().most_bytes, 50000U);
}

/// Whatever is asked and released in which order: never above the limits, and never stuck when empty.
TEST(ShardLimiter, RandomUseNeverExceedsTheLimitsAndNeverSticks) {
  std::mt19937 random(3);
  for (Limit kind : {Limit::block, Limit::sliding})
    for (int round = 0; round < 200; ++round) {
      const int gathers = static_cast<int>(random() % 4);
      const size_t bytes = 50 + random() % 100;
      Limiter limiter({kind, gathers, bytes});
      std::deque<size_t> under_way;
      size_t sum = 0;
      for (uint64_t number = 0; number < 100;) {
        const size_t next = 1 + (number * 37) % 50;
        const bool admitted = limiter.admit(number, next);
        ASSERT_TRUE(admitted || !under_way.empty());
        if (admitted) {
          under_way.push_back(next);
          sum += next;
          ++number;
        }
        ASSERT_LE(sum, bytes);
        ASSERT_TRUE(gathers == 0 || under_way.size() <= static_cast<size_t>(gathers));
        if (!admitted || random() % 2 == 0) {
          limiter.release(under_way.front());
          sum -= under_way.front();
          under_way.pop_front();
        }
      }
    }
}

}  // namespace
}  // namespace weir::shard
