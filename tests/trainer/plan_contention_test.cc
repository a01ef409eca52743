// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/contention.h"

#include <gtest/gtest.h>

namespace weir::trainer::plan {
namespace {

TEST(PlanContention, FindsWhatBothLoseWhicheverEndsFirst) {
  const Contention lost{0.25, 0.5};
  // At 3/4 and 1/2 of their speed: the transfers end at 4 s, computing has 9 s of its 12 left; and the other
  // way round.
  const ComputingAndTransfers transfers_first{12, 2};
  EXPECT_DOUBLE_EQ(seconds_together(lost, transfers_first), 13);
  Contention found = contention_of(transfers_first, {13, 4});
  EXPECT_DOUBLE_EQ(found.computing, 0.25);
  EXPECT_DOUBLE_EQ(found.transfers, 0.5);
  const ComputingAndTransfers computing_first{3, 7};
  EXPECT_DOUBLE_EQ(seconds_together(lost, computing_first), 9);
  found = contention_of(computing_first, {4, 9});
  EXPECT_DOUBLE_EQ(found.computing, 0.25);
  EXPECT_DOUBLE_EQ(found.transfers, 0.5);
}

TEST(PlanContention, WhatDisturbsNobodyEndsWithTheLonger) {
  EXPECT_DOUBLE_EQ(seconds_together({}, {3, 5}), 5);
  const Contention none = contention_of({3, 5}, {3, 5});
  EXPECT_DOUBLE_EQ(none.computing, 0);
  EXPECT_DOUBLE_EQ(none.transfers, 0);
}

TEST(PlanContention, NoiseStaysWithinTheLimits) {
  const Contention faster = contention_of({3, 5}, {2, 4});
  EXPECT_EQ(faster.computing, 0);
  EXPECT_EQ(faster.transfers, 0);
  const Contention stopped = contention_of({3, 5}, {3, 100});  // no transfer went on before computing ended
  EXPECT_EQ(stopped.computing, 0);
  EXPECT_EQ(stopped.transfers, 0.95);
}

}  // namespace
}  // namespace weir::trainer::plan
