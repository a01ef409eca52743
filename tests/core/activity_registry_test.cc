// SPDX-License-Identifier: Apache-2.0
// What a process remembers of its communicators and tells others.
#include "src/core/diagnosis/activity_registry.h"

#include <gtest/gtest.h>

namespace weir::core {
namespace {

constexpr uint64_t kObserved = 7;

Failure failure_of(Rank culprit) { return {culprit, Status(Code::remote_error, "is dead")}; }

TEST(ActivityRegistry, AFailureIsToldToTheRanksThatAreThereAndToThoseThatComeLater) {
  ActivityRegistry activities;
  const auto here = activities.enter(kObserved, 0);
  EXPECT_TRUE(activities.answer(kObserved, ActivityRegistry::notice(failure_of(4))).empty());
  EXPECT_TRUE(here->failed());
  const auto late = activities.enter(kObserved, 1);
  ASSERT_TRUE(late->failed());
  EXPECT_EQ(late->snapshot(0).failure->culprit, 4);
  activities.fail(kObserved, failure_of(5));
  EXPECT_EQ(activities.enter(kObserved, 2)->snapshot(0).failure->culprit, 4) << "the first counts";
  EXPECT_FALSE(activities.enter(kObserved + 1, 0)->failed());
}

TEST(ActivityRegistry, ManyFailuresOfStrangersAreForgotten) {
  ActivityRegistry activities;
  activities.fail(kObserved, failure_of(0));
  for (uint64_t other = 100; other < 200; ++other) activities.fail(other, failure_of(0));
  EXPECT_FALSE(activities.enter(kObserved, 0)->failed());
  EXPECT_TRUE(activities.enter(199, 0)->failed());
}

}  // namespace
}  // namespace weir::core
