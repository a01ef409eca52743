// SPDX-License-Identifier: Apache-2.0
// What a process remembers of its communicators and tells others.
#include "src/core/diagnosis/activity_registry.h"

#include <gmock/gmock.h>

namespace weir::core {
namespace {

using ::testing::HasSubstr;

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

/// Ranks 0 and 1 of a communicator, of which rank 1 is told to have died while nobody waited for it.
TEST(ActivityRegistry, ADeathIsToldWithTheCallUnderWay) {
  ActivityRegistry activities;
  const auto listener = SocketAddress::loopback(AF_INET, 4711);
  const auto peers = std::make_shared<const std::vector<PeerAddress>>(
      std::vector<PeerAddress>{{listener, 1, 1, "here"}, {listener, 1, 2, "here"}});
  const auto own = activities.enter(kObserved, 0);
  own->tell_peers(peers, 0);
  Failure death = failure_of(1);
  death.seen = "; found by rank 5, whose connection to it has ended";
  (void)activities.answer(kObserved, ActivityRegistry::notice(death));
  EXPECT_EQ(own->status().message(), "is dead; found by rank 5, whose connection to it has ended");
  EXPECT_EQ(own->status("step 3").message(), own->status().message()) << "it is in no call";
  own->begin(2, 0xabc, {.count = 8});
  EXPECT_THAT(own->status("step 3").message(),
              AllOf(HasSubstr("is dead; found by rank 0 (pid 1 on host here) in ncclAllReduce(count 8"),
                    HasSubstr("as call 2 of the communicator, at step 3")));
  const Rank awaited[] = {1};
  own->wait_for(awaited, 1'500'000'000);
  EXPECT_THAT(own->status().message(), HasSubstr(", after 1.5 s of waiting for rank 1"));
}

TEST(ActivityRegistry, ACallOfAnotherCommunicatorIsToldToWhoeverMissesTheRank) {
  ActivityRegistry activities;
  const auto own = activities.enter(kObserved, 0), other = activities.enter(kObserved + 1, 0),
             twin = activities.enter(kObserved + 2, 0);
  activities.pair(kObserved, kObserved + 2);
  const auto elsewhere = [&] { return activities.report(kObserved, 0, 0).elsewhere; };
  twin->begin(1, 0xabc, {.count = 8});
  EXPECT_EQ(elsewhere(), "") << "to users it is the same communicator";
  other->begin(1, 0xabc, {.count = 8});
  EXPECT_EQ(elsewhere(), "is in a call of communicator 0x8");
  other->end();
  EXPECT_EQ(elsewhere(), "");
  Failure failure = failure_of(4);
  failure.process = SocketAddress::loopback(AF_INET, 4711);
  activities.fail(kObserved + 1, failure);
  EXPECT_EQ(elsewhere(), "has just failed in communicator 0x8: is dead");
}

TEST(ActivityRegistry, AFailureFromBeforeACommunicatorIsNotWhyItIsLeft) {
  ActivityRegistry activities;
  const auto peers = std::make_shared<const std::vector<PeerAddress>>(
      std::vector<PeerAddress>{{SocketAddress::loopback(AF_INET, 4712), 1, 1, "here"}});
  const auto before = activities.enter(kObserved, 0);
  Failure failure = failure_of(4);
  failure.process = SocketAddress::loopback(AF_INET, 4711);
  activities.fail(kObserved + 1, failure);
  const auto after = activities.enter(kObserved + 2, 0);
  for (const auto& activity : {before, after}) activity->tell_peers(peers, 0);
  EXPECT_EQ(activities.report(kObserved + 2, 0, 0).elsewhere, "") << "the process went on after it";
  activities.leave(kObserved + 2, 0);
  EXPECT_FALSE(after->failed());
  activities.leave(kObserved, 0);
  EXPECT_THAT(before->status().message(),
              HasSubstr("has left because of a failure in another communicator (0x8)"));
}

TEST(ActivityRegistry, TheFailureOfATwinIsOnesOwn) {
  ActivityRegistry activities;
  constexpr uint64_t kTwin = kObserved + 1;
  const auto own = activities.enter(kObserved, 0), twin = activities.enter(kTwin, 0);
  activities.pair(kObserved, kTwin);
  activities.fail(kTwin, failure_of(4));
  ASSERT_TRUE(own->failed());
  EXPECT_EQ(own->snapshot(0).failure->culprit, 4);
  EXPECT_TRUE(twin->failed());
}

TEST(ActivityRegistry, ATwinOfWhatHasFailedHasFailed) {
  ActivityRegistry activities;
  activities.fail(kObserved, failure_of(4));
  const auto twin = activities.enter(kObserved + 1, 0);
  activities.pair(kObserved, kObserved + 1);
  EXPECT_TRUE(twin->failed());
}

TEST(ActivityRegistry, ATwinThatWasLeftIsForgotten) {
  ActivityRegistry activities;
  const auto own = activities.enter(kObserved, 0), twin = activities.enter(kObserved + 1, 0);
  activities.pair(kObserved, kObserved + 1);
  activities.leave(kObserved + 1, 0);
  activities.fail(kObserved, failure_of(4));
  EXPECT_TRUE(own->failed());
  EXPECT_FALSE(twin->failed());
}

}  // namespace
}  // namespace weir::core
