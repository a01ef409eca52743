// SPDX-License-Identifier: Apache-2.0
/// Processes that join, as threads of this one: who is let in and who is refused, what they are told, and
/// what a job takes. Whole jobs: elastic_test.py.
#include "trainer/run/newcomer_listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/net/own_loopback.h"
#include "trainer/run/admission.h"
#include "trainer/run/newcomer.h"
#include "trainer/run/own_address.h"

namespace weir::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kOptions = "--seed\t1\n--batch\t8\n";

class Joining : public ::testing::Test {
 protected:
  Joining() { setenv("WEIR_SECRET", "of this test", 1); }

  /// Counts those present until there are so many.
  static void wait_for(NewcomerListener& listener, int count) {
    while (listener.count_present() != count) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }

  const std::string address_ = weir::testing::own_loopback_address();
};

TEST_F(Joining, ThoseThatAreLetInAreCalled) {
  NewcomerListener listener(address_, kOptions);
  listener.set_others(address_);
  std::array<Result<std::optional<Call>>, 2> called{std::optional<Call>(), std::optional<Call>()};
  std::vector<std::thread> newcomers;
  for (auto& each : called) newcomers.emplace_back([&] { each = wait_to_join({address_}, kOptions); });
  wait_for(listener, 2);
  EXPECT_FALSE(listener.has_news());
  listener.let_go(2, {Call::join, 3, 5, 6, {}});
  for (std::thread& thread : newcomers) thread.join();
  std::vector<int> ranks;
  for (const auto& each : called) {
    ASSERT_TRUE(each.ok() && each->has_value()) << each.status().message();
    ranks.push_back((*each)->rank);
    EXPECT_EQ((*each)->ranks, 5);
    EXPECT_EQ((*each)->target, 6);
  }
  EXPECT_THAT(ranks, ::testing::UnorderedElementsAre(3, 4));
  EXPECT_EQ(listener.count_present(), 0);
}

TEST_F(Joining, OtherOptionsAreRefusedWithASentence) {
  const NewcomerListener listener(address_, kOptions);
  const auto refused = wait_to_join({address_}, "--seed\t9\n--batch\t8\n");
  EXPECT_EQ(refused.status().code(), Code::invalid_argument);
  EXPECT_THAT(refused.status().message(), HasSubstr("--seed is 1 in the job, and 9 in this process"));
  EXPECT_FALSE(listener.has_news());
}

TEST_F(Joining, TheEndOfTheRunIsTheEndOfWaiting) {
  auto listener = std::make_unique<NewcomerListener>(address_, kOptions);
  Result<std::optional<Call>> called = Status(Code::in_progress, "not yet");
  std::thread newcomer([&] { called = wait_to_join({address_}, kOptions); });
  wait_for(*listener, 1);
  listener.reset();
  newcomer.join();
  ASSERT_TRUE(called.ok()) << called.status().message();
  EXPECT_FALSE(called->has_value());
}

TEST(OwnAddress, IsTheOtherOnesOnItsHost) {
  EXPECT_EQ(*own_address("127.0.0.1:29400"), "127.0.0.1:29400");
  EXPECT_EQ(*own_address("127.3.2.1:29400"), "127.3.2.1:29400");
  EXPECT_THAT(own_address("nowhere").status().message(), HasSubstr("expected an address"));
}

TEST(Addresses, AreSeparatedByCommas) {
  EXPECT_THAT(addresses_in("a:1,b:2"), ElementsAre("a:1", "b:2"));
  EXPECT_TRUE(addresses_in("").empty());
}

TEST(Admission, TakesAsManyAsFormGroups) {
  Settings settings;
  EXPECT_EQ(admissible(settings, 3, 2), 2);
  settings.sharding.strategy = shard::Strategy::hybrid_shard;
  EXPECT_EQ(admissible(settings, 3, 2), 2) << "groups of hosts";
  settings.sharding.shard_ranks = 2;
  EXPECT_EQ(admissible(settings, 4, 3), 2);
  EXPECT_EQ(admissible(settings, 4, 1), 0);
  EXPECT_EQ(admissible(settings, 3, 1), 1);
  settings.parts = {2, 1};
  EXPECT_EQ(admissible(settings, 4, 3), 0);
  EXPECT_EQ(admissible(settings, 4, 4), 4);
  settings = {};
  settings.local_steps = 5;
  settings.batch = 12;
  settings.sharding.shard_ranks = 1;
  EXPECT_EQ(admissible(settings, 4, 1), 0) << "12 sequences are not for 5 groups";
  EXPECT_EQ(admissible(settings, 4, 2), 2);
}

}  // namespace
}  // namespace weir::trainer
