// What a process remembers of its communicators and tells others.
#include "src/core/watch.h"

#include <gtest/gtest.h>

namespace weir::core {
namespace {

constexpr uint64_t kWatched = 7;

Failure failure_of(Rank culprit) { return {culprit, Status(Code::remote_error, "is dead")}; }

TEST(Watch, AFailureIsToldToTheRanksThatAreThereAndToThoseThatComeLater) {
  Watch watch;
  const auto here = watch.enter(kWatched, 0);
  EXPECT_TRUE(watch.answer(kWatched, Watch::notice(failure_of(4))).empty());
  EXPECT_TRUE(here->failed());
  const auto late = watch.enter(kWatched, 1);
  ASSERT_TRUE(late->failed());
  EXPECT_EQ(late->snapshot(0).failure->culprit, 4);
  watch.fail(kWatched, failure_of(5));
  EXPECT_EQ(watch.enter(kWatched, 2)->snapshot(0).failure->culprit, 4) << "the first counts";
  EXPECT_FALSE(watch.enter(kWatched + 1, 0)->failed());
}

TEST(Watch, ManyFailuresOfStrangersAreForgotten) {
  Watch watch;
  watch.fail(kWatched, failure_of(0));
  for (uint64_t other = 100; other < 200; ++other) watch.fail(other, failure_of(0));
  EXPECT_FALSE(watch.enter(kWatched, 0)->failed());
  EXPECT_TRUE(watch.enter(199, 0)->failed());
}

}  // namespace
}  // namespace weir::core
