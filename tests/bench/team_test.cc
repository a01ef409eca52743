// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/team.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <future>
#include <thread>

namespace weir::perf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Placement member(int rank, int size, const char* name) {
  Placement placement;
  placement.rank = rank;
  placement.size = size;
  placement.name = std::string(name) + std::to_string(getpid());
  return placement;
}

TEST(Control, CollectsFromAllInTheirOrder) {
  constexpr int kSize = 5;
  std::vector<std::future<std::string>> results;
  for (int rank = 0; rank < kSize; ++rank)
    results.push_back(std::async(std::launch::async, [rank] {
      std::unique_ptr<Control> control;
      if (!Control::join(member(rank, kSize, "collect"), &control).ok()) return std::string("no meeting");
      std::string all;
      for (int round = 0; round < 20; ++round) {
        char mine = static_cast<char>('a' + rank);
        if (!control->exchange(&mine, 1, &all).ok()) return std::string("no exchange");
      }
      return all;
    }));
  for (std::future<std::string>& result : results) EXPECT_EQ(result.get(), "abcde");
}

TEST(Control, SeveralHostsMeetThroughTcp) {
  auto one = [](int rank) {
    Placement placement = member(rank, 2, "");
    placement.one_host = false;
    placement.host = "127.0.0.1";
    placement.port = std::to_string(20000 + getpid() % 10000);
    std::unique_ptr<Control> control;
    std::string all;
    if (!Control::join(placement, &control).ok() || !control->exchange(rank == 0 ? "x" : "y", 1, &all).ok())
      return std::string("failed");
    return all;
  };
  auto second = std::async(std::launch::async, one, 1);
  EXPECT_EQ(one(0), "xy");
  EXPECT_EQ(second.get(), "xy");
}

TEST(Control, ThoseWhoStayNoticeWhoHasGone) {
  auto leaver = std::async(std::launch::async, [] {
    std::unique_ptr<Control> control;
    return Control::join(member(1, 2, "gone"), &control).ok();
  });
  std::unique_ptr<Control> control;
  ASSERT_TRUE(Control::join(member(0, 2, "gone"), &control).ok());
  EXPECT_TRUE(leaver.get());
  std::string all;
  EXPECT_THAT(control->exchange("x", 1, &all).message(),
              HasSubstr("process 1 ended before the end of the run"));
}

TEST(Control, ProcessesAtDifferentStepsAreTold) {
  auto other = std::async(std::launch::async, [] {
    std::unique_ptr<Control> control;
    std::string all;
    return Control::join(member(1, 2, "steps"), &control).ok() && control->exchange("xy", 2, &all).ok();
  });
  Outcome outcome;
  {
    std::unique_ptr<Control> control;
    ASSERT_TRUE(Control::join(member(0, 2, "steps"), &control).ok());
    std::string all;
    outcome = control->exchange("x", 1, &all);
  }
  EXPECT_THAT(outcome.message(), HasSubstr("process 1 is at another step"));
  EXPECT_FALSE(other.get());
}

TEST(Team, ReducesOverThreadsAsAsked) {
  std::unique_ptr<Control> control;
  ASSERT_TRUE(Control::join(Placement(), &control).ok());
  constexpr int kThreads = 3;
  Team team(*control, kThreads);
  std::vector<std::future<std::vector<double>>> results;
  for (int thread = 0; thread < kThreads; ++thread)
    results.push_back(std::async(std::launch::async, [&team, thread] {
      std::vector<double> seen;
      for (Average how : {Average::rank_0, Average::mean, Average::minimum, Average::maximum}) {
        EXPECT_TRUE(team.barrier(thread).ok());
        EXPECT_TRUE(team.reduce(thread, 10.0 * (2 - thread) + 1, how, &seen.emplace_back()).ok());
      }
      EXPECT_TRUE(team.sum(thread, thread, &seen.emplace_back()).ok());
      return seen;
    }));
  for (auto& result : results) EXPECT_THAT(result.get(), ElementsAre(21, 11, 1, 21, 3));
}

TEST(Team, AFailureWakesThoseWhoWait) {
  std::unique_ptr<Control> control;
  ASSERT_TRUE(Control::join(Placement(), &control).ok());
  Team team(*control, 2);
  auto waiting = std::async(std::launch::async, [&team] { return team.barrier(0).message(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  team.fail();
  EXPECT_THAT(waiting.get(), HasSubstr("another thread of this process has failed"));
  EXPECT_FALSE(team.barrier(1).ok());
}

}  // namespace
}  // namespace weir::perf
