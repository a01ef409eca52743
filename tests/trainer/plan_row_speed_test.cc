// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/row_speed.h"

#include <gtest/gtest.h>

#include "plan_machine.h"
#include "trainer/plan/predict.h"

namespace weir::trainer::plan {
namespace {

constexpr double kRowFlops = 4.7e6;  ///< per row

/// Seconds of `rows` rows at 50 GFLOP/s after 3 ms.
RowSample sample_of(double rows) { return {rows, 3e-3 + rows * kRowFlops / 50e9}; }

TEST(PlanRowSpeed, IsTheLineThroughBothTimes) {
  for (const double rows : {128.0, 256.0, 384.0}) {
    const RowSpeed found = row_speed(sample_of(rows), sample_of(512), kRowFlops);
    EXPECT_NEAR(found.compute, 50e9, 1);
    EXPECT_NEAR(found.half_rows, 3e-3 * 50e9 / kRowFlops, 1e-6);
  }
}

TEST(PlanRowSpeed, HasNoHalfIfTimesAreProportional) {
  const RowSpeed found = row_speed({128, 0.001}, {512, 0.004}, kRowFlops);
  EXPECT_NEAR(found.half_rows, 0, 1e-9);
  EXPECT_NEAR(found.compute, 128 * kRowFlops / 0.001, 1);
}

/// Few rows cost less than their part of the many: the line would begin below zero.
TEST(PlanRowSpeed, NeverChargesLessThanNothing) {
  const RowSpeed found = row_speed({128, 0.0007}, {512, 0.004}, kRowFlops);
  EXPECT_EQ(found.half_rows, 0);
  EXPECT_DOUBLE_EQ(found.compute, 512 * kRowFlops / 0.004);
}

/// Few rows took nearly as long as many, as long, or longer: the line would rise slowly, or fall.
TEST(PlanRowSpeed, ExpectsAtMostTwiceTheMeasuredSpeed) {
  for (const double seconds : {0.0039, 0.004, 0.009}) {
    const RowSpeed found = row_speed({128, seconds}, {512, 0.004}, kRowFlops);
    EXPECT_EQ(found.half_rows, 512) << seconds;
    EXPECT_DOUBLE_EQ(found.compute, 2 * 512 * kRowFlops / 0.004) << seconds;
  }
}

/// Whatever was measured, the step-time model gives the time of many rows back, and more for more rows.
TEST(PlanRowSpeed, ModelTakesTheMeasuredTime) {
  Model block{"block", 256, 4, 128, 0, true, {{"block", kRowFlops / 6, kRowFlops / 6, 0, false}}};
  const RowSample many{512, 0.004};
  for (const double few : {1e-6, 0.0005, 0.001, 0.0015, 0.003, 0.0045, 1.0}) {
    const RowSpeed speed = row_speed({128, few}, many, kRowFlops);
    Cluster cluster = on({1, 1});
    cluster.compute = cluster.peak = speed.compute;
    cluster.half_rows = speed.half_rows;
    const auto seconds = [&](int sequences) {
      Job job;
      job.micro_batch = sequences;
      const auto found = predict(block, cluster, job);
      EXPECT_TRUE(found.ok()) << found.status().message();
      return found.ok() ? found->line.seconds : 0;
    };
    EXPECT_NEAR(seconds(4), many.seconds, 1e-12) << few;
    EXPECT_GT(seconds(5), seconds(4)) << few;
    EXPECT_GE(seconds(1), many.seconds / 4 * (1 - 1e-9)) << few;
    EXPECT_LE(seconds(1), many.seconds) << few;
  }
}

}  // namespace
}  // namespace weir::trainer::plan
