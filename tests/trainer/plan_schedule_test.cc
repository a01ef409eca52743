// SPDX-License-Identifier: Apache-2.0
// The list schedule against closed forms.
#include <gtest/gtest.h>

#include <algorithm>

#include "trainer/plan/schedule.h"

namespace weir::trainer::plan {
namespace {

constexpr int kUnits = 12;
constexpr double kRounding = 1e-9;

struct Times {
  double gather, reduce, forward, backward;
};

std::vector<UnitTimes> equal_units(const Times& times, int count = kUnits) {
  UnitTimes unit;
  unit.gather = {0, times.gather};
  unit.reduce = {0, times.reduce};
  unit.forward = times.forward;
  unit.backward = times.backward;
  unit.parameter_bytes = 100;
  unit.gradient_bytes = 10;
  return std::vector<UnitTimes>(static_cast<size_t>(count), unit);
}

Rules with(Limiter::Kind kind, int gathers, int prefetch = kEverything) {
  Rules rules;
  rules.prefetch = prefetch;
  rules.limiter = {kind, gathers, 0};
  return rules;
}

TEST(PlanSchedule, HidesAllButTheFirstGatherAndTheLastReduction) {
  const Times times{1, 1.5, 3, 6};
  const double computing = kUnits * 9;
  for (const int prefetch : {1, 2, kEverything}) {
    const Timeline line = run(equal_units(times), with(Limiter::Kind::off, 0, prefetch));
    EXPECT_NEAR(line.seconds, 1 + computing + 1.5, kRounding);
    EXPECT_NEAR(line.compute_seconds, computing, kRounding);
    EXPECT_NEAR(line.exposed_seconds(), 2.5, kRounding);
  }
}

TEST(PlanSchedule, IsBoundByLinksWhereTheyAreSlower) {
  const Times times{7, 8, 3, 6};
  // The last unit is not gathered for backward.
  const double links = (2 * kUnits - 1) * 7 + kUnits * 8;
  const Timeline line = run(equal_units(times), with(Limiter::Kind::sliding, 2));
  EXPECT_NEAR(line.between_seconds, links, kRounding);
  EXPECT_GE(line.seconds, links);
  EXPECT_LE(line.seconds, links + 3 + 6 + 8);
}

TEST(PlanSchedule, InAFullMemoryNothingOverlaps) {
  const Times times{7, 8, 3, 6};
  const Timeline line = run(equal_units(times), with(Limiter::Kind::stall, 0));
  EXPECT_NEAR(line.seconds, kUnits * (7 + 3 + 6 + 8) + (kUnits - 1) * 7, kRounding);
}

TEST(PlanSchedule, WithoutPrefetchGathersAreExposed) {
  const Times times{7, 0, 3, 6};
  const Timeline line = run(equal_units(times), with(Limiter::Kind::off, 0, 0));
  EXPECT_NEAR(line.seconds, kUnits * 9 + (2 * kUnits - 1) * 7, kRounding);
}

TEST(PlanSchedule, EachBlockPaysOneGather) {
  const Times times{2, 0, 3, 3};
  for (const int block : {1, 2, 4, 8}) {
    const Timeline line = run(equal_units(times), with(Limiter::Kind::block, block));
    const int blocks = (2 * kUnits - 1 + block - 1) / block;
    EXPECT_NEAR(line.seconds, blocks * 2 + 2 * kUnits * 3, kRounding) << block;
    EXPECT_LE(line.most_gathered, block);
  }
}

// The window also lets the first gather of backward go while the last unit computes forward.
TEST(PlanSchedule, AWindowOfTwoIsOneGatherAhead) {
  for (const Times& times : {Times{2, 1, 3, 6}, Times{7, 8, 3, 6}, Times{4, 9, 5, 5}}) {
    const Timeline window = run(equal_units(times), with(Limiter::Kind::sliding, 2));
    const Timeline depth = run(equal_units(times), with(Limiter::Kind::off, 0, 1));
    EXPECT_LE(window.seconds, depth.seconds + kRounding);
    EXPECT_GE(window.seconds, depth.seconds - times.forward - kRounding);
  }
}

TEST(PlanSchedule, NeverGathersMoreThanTheLimiterAllows) {
  for (const Times& times : {Times{2, 1, 3, 6}, Times{7, 8, 3, 6}, Times{0.1, 9, 5, 5}}) {
    for (const int window : {1, 2, 3, 5}) {
      const Timeline line = run(equal_units(times), with(Limiter::Kind::sliding, window));
      EXPECT_LE(line.most_gathered, window);
      EXPECT_LE(line.peak_bytes, window * 100 + kUnits * 10);
    }
    Rules rules = with(Limiter::Kind::sliding, 0);
    rules.limiter.bytes = 350;
    EXPECT_EQ(run(equal_units(times), rules).most_gathered, 3);
    rules.limiter.bytes = 1;  // one has to be possible
    EXPECT_EQ(run(equal_units(times), rules).most_gathered, 1);
  }
}

TEST(PlanSchedule, WithoutLimiterAllUnitsAreGathered) {
  const Timeline line = run(equal_units({0.01, 0.01, 3, 6}), with(Limiter::Kind::off, 0));
  EXPECT_EQ(line.most_gathered, kUnits);
}

TEST(PlanSchedule, AWiderWindowIsNotSlower) {
  const std::vector<UnitTimes> units = equal_units({5, 4, 3, 6});
  double last = run(units, with(Limiter::Kind::sliding, 1)).seconds;
  for (int window = 2; window <= 6; ++window) {
    const double seconds = run(units, with(Limiter::Kind::sliding, window)).seconds;
    EXPECT_LE(seconds, last + kRounding) << window;
    last = seconds;
  }
}

TEST(PlanSchedule, TransfersTakeTheirPartOfTheGpu) {
  const Times times{1, 1.5, 3, 6};
  Rules rules = with(Limiter::Kind::off, 0, 1);
  rules.contention.computing = 0.25;
  const double hidden = (2 * kUnits - 2) * 1 + (kUnits - 1) * 1.5;
  EXPECT_NEAR(run(equal_units(times), rules).seconds, 1 + kUnits * 9 + 0.25 * hidden + 1.5, kRounding);
}

TEST(PlanSchedule, LinksInsideAndBetweenNodesWorkAtOnce) {
  std::vector<UnitTimes> units = equal_units({0, 0, 1, 1});
  for (UnitTimes& unit : units) {
    unit.gather = {4, 0};
    unit.reduce = {0, 4};
  }
  const Timeline line = run(units, with(Limiter::Kind::sliding, 2));
  EXPECT_NEAR(line.inside_seconds, (2 * kUnits - 1) * 4, kRounding);
  EXPECT_NEAR(line.between_seconds, kUnits * 4, kRounding);
  // All gathers of forward, both computations of the last unit, and then one reduction after the other.
  EXPECT_NEAR(line.seconds, kUnits * 4 + 2 + kUnits * 4, kRounding);
}

TEST(PlanSchedule, HeldParametersAreGatheredOncePerMicroBatch) {
  Rules rules = with(Limiter::Kind::off, 0, 2);
  rules.free_after_forward = false;
  rules.micro_batches = 3;
  const Timeline line = run(equal_units({2, 1, 3, 6}), rules);
  EXPECT_NEAR(line.between_seconds, 3 * kUnits * (2 + 1), kRounding);
  EXPECT_EQ(line.most_gathered, kUnits);
}

TEST(PlanSchedule, KeptUnitsAreNotCountedAndNotGatheredAgain) {
  std::vector<UnitTimes> units = equal_units({2, 0, 3, 6});
  units.front().kept = true;
  const Timeline line = run(units, with(Limiter::Kind::sliding, 1));
  EXPECT_NEAR(line.between_seconds, (2 * kUnits - 2) * 2, kRounding);
  EXPECT_EQ(line.most_gathered, 1);
}

TEST(PlanSchedule, GradientsMayWaitForTheLastMicroBatch) {
  Rules rules = with(Limiter::Kind::off, 0, 1);
  rules.reduce_each = false;
  rules.micro_batches = 4;
  EXPECT_NEAR(run(equal_units({0, 1, 3, 6}), rules).between_seconds, kUnits * 1, kRounding);
}

TEST(PlanSchedule, OneUnit) {
  const Timeline line = run(equal_units({2, 1, 3, 6}, 1), with(Limiter::Kind::block, 4));
  EXPECT_NEAR(line.seconds, 2 + 3 + 6 + 1, kRounding);
  EXPECT_NEAR(line.peak_bytes, 110, kRounding);
}

TEST(PlanSchedule, TransfersBeginLaterWhileSomethingIsComputed) {
  const Times times{1, 1.5, 3, 6};
  Rules rules = with(Limiter::Kind::off, 0, 1);
  rules.contention.wake = 0.5;
  // Before the first gather and the last reduction nothing is computed, and all others fit beside computing.
  const Timeline hidden = run(equal_units(times), rules);
  EXPECT_NEAR(hidden.seconds, 1 + kUnits * 9 + 1.5, kRounding);
  EXPECT_NEAR(hidden.between_seconds, (2 * kUnits - 1) * 1 + kUnits * 1.5, kRounding);
  // A gather that waits for a core longer than the unit before it computes delays the next one.
  rules.contention.wake = 2.5;
  const Timeline late = run(equal_units(times, 2), rules);
  EXPECT_NEAR(late.seconds, 1 + (2.5 + 1) + 3 + 6 + 6 + 1.5, kRounding);
}

TEST(PlanSchedule, LaterTransfersAreNeverQuicker) {
  const Times times{1, 1.5, 3, 6};
  double last = 0;
  for (const double wake : {0.0, 0.1, 1.0, 3.0, 10.0}) {
    Rules rules = with(Limiter::Kind::sliding, 2, 1);
    rules.contention.wake = wake;
    const double seconds = run(equal_units(times), rules).seconds;
    EXPECT_GE(seconds, last - kRounding);
    last = seconds;
  }
}

TEST(PlanSchedule, WaitingForACoreSlowsNothing) {
  const Times times{1, 1, 10, 20};
  Rules rules = with(Limiter::Kind::off, 0, 1);
  rules.contention = {0.5, 0};
  const double before = run(equal_units(times), rules).seconds;
  rules.contention.wake = 2;
  EXPECT_NEAR(run(equal_units(times), rules).seconds, before, kRounding);
}

TEST(PlanSchedule, ComputingWaitsForRoomForGradients) {
  const Times times{0.5, 100, 3, 6};
  Rules rules = with(Limiter::Kind::off, 0);
  rules.reductions = 2;
  std::vector<UnitTimes> units = equal_units(times);
  for (UnitTimes& unit : units) unit.parameter_bytes = 0;
  const Timeline line = run(units, rules);
  // One reduction after the other, and each unit but the last two waits for the second one before it.
  EXPECT_NEAR(line.seconds, 0.5 + kUnits * 3 + 6 + kUnits * 100, kRounding);
  EXPECT_EQ(line.peak_bytes, 2 * 10);
  rules.reductions = 0;
  const Timeline any = run(units, rules);
  EXPECT_NEAR(any.seconds, line.seconds, kRounding);  // the links are as busy
  EXPECT_EQ(any.peak_bytes, kUnits * 10);
  rules.reduce_each = false;
  rules.reductions = 1;
  EXPECT_NEAR(run(equal_units(times), rules).seconds, line.seconds, kRounding);
}

}  // namespace
}  // namespace weir::trainer::plan
