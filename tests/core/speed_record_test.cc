// SPDX-License-Identifier: Apache-2.0

#include "src/core/channels/speed_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/core/diagnosis/link_speed.h"

namespace weir::core {
namespace {

using Change = SpeedRecord::Change;

constexpr SpeedRecord::Kind kKind{20, 1};

/// Adds intervals of ten calls each until the link changes; returns how many, or -1 after `most`.
class Link {
 public:
  int until(Change change, double speed, int most, const SpeedRecord::Kind& kind = kKind) {
    for (int i = 1; i <= most; ++i) {
      // Single intervals differ by a quarter, as they do on a busy machine.
      const double noise = 1 + 0.25 * ((i * 7 % 5) - 2) / 2;
      const Change seen = past.add(kind, speed * noise, call += 10);
      if (seen == change) return i;
      EXPECT_EQ(seen, Change::none) << i;
    }
    return -1;
  }

  SpeedRecord past;
  uint64_t call = 0;
};

TEST(SpeedRecord, ALinkOfHalfItsSpeedIsSlowAfterTwoMedians) {
  Link link;
  EXPECT_EQ(link.until(Change::slow, 1e9, 100), -1);
  EXPECT_FALSE(link.past.slow());
  // The medians begin anew after 96 of the 100 intervals.
  EXPECT_EQ(link.until(Change::slow, 0.5e9, 100), 20);
  EXPECT_TRUE(link.past.slow());
  EXPECT_NEAR(link.past.now(), 0.5e9, 0.1e9);
  EXPECT_NEAR(link.past.past(), 1e9, 0.2e9);
  EXPECT_EQ(link.call - link.past.since(), 160U) << "the two medians";
}

/// What is slow does not become the past, however long it lasts.
TEST(SpeedRecord, ASlowLinkStaysSlowUntilItRecovers) {
  Link link;
  EXPECT_EQ(link.until(Change::slow, 1e9, 80), -1);
  EXPECT_GT(link.until(Change::slow, 0.5e9, 80), 0);
  EXPECT_EQ(link.until(Change::recovered, 0.5e9, 10'000), -1);
  EXPECT_TRUE(link.past.slow());
  EXPECT_NEAR(link.past.past(), 1e9, 0.2e9);
  EXPECT_EQ(link.until(Change::recovered, 0.7e9, 100), -1) << "not yet as fast as it was";
  EXPECT_GT(link.until(Change::recovered, 1e9, 100), 0);
  EXPECT_FALSE(link.past.slow());
}

TEST(SpeedRecord, OneSlowMedianIsNothing) {
  Link link;
  for (int turn = 0; turn < 10; ++turn) {
    EXPECT_EQ(link.until(Change::slow, 1e9, 40), -1);
    EXPECT_EQ(link.until(Change::slow, 0.3e9, 8), -1);
  }
}

TEST(SpeedRecord, CallsThatDifferAreNotCompared) {
  Link link;
  const SpeedRecord::Kind small{12, 1}, shared{20, 3};
  for (int turn = 0; turn < 5; ++turn) {
    EXPECT_EQ(link.until(Change::slow, 1e9, 40), -1);
    EXPECT_EQ(link.until(Change::slow, 0.1e9, 40, small), -1);
    EXPECT_EQ(link.until(Change::slow, 0.3e9, 40, shared), -1);
  }
  EXPECT_GT(link.until(Change::slow, 0.1e9, 40, shared), 0) << "but each with its own past";
}

/// A link that gets slower by so little at a time that each step is in the noise.
TEST(SpeedRecord, ASlowDeclineIsSeenAgainstTheWholePast) {
  Link link;
  EXPECT_EQ(link.until(Change::slow, 1e9, 4000), -1);
  double speed = 1e9;
  int found = -1;
  for (; found < 0 && speed > 0.4e9; speed *= 0.99) found = link.until(Change::slow, speed, 24);
  EXPECT_GT(found, 0);
  EXPECT_GT(speed, 0.5e9);
}

TEST(SpeedRecord, NothingIsSaidWithoutAPast) {
  Link link;
  EXPECT_EQ(link.until(Change::slow, 1e9, 16), -1);
  EXPECT_EQ(link.past.past(), 0);
  EXPECT_EQ(link.until(Change::slow, 0.1e9, 8), -1);
}

TEST(LinkSpeed, InWords) {
  EXPECT_EQ(describe({7, "tcp", "eth0", 0.61e9, 1.22e9, 1000, true}, 3),
            "rank 3 -> rank 7 by tcp over eth0: 0.61 GB/s over the last 1000 calls, 1.22 GB/s before");
  EXPECT_EQ(describe({0, "tcp", "", 5.5e6, 11e6, 96, true}, 1),
            "rank 1 -> rank 0 by tcp: 5.50 MB/s over the last 96 calls, 11.00 MB/s before");
}

}  // namespace
}  // namespace weir::core
