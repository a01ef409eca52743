// SPDX-License-Identifier: Apache-2.0

#include "transports/net_counters.h"

#include <gmock/gmock.h>

#include <thread>

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(NetCounters, AddUp) {
  const NetCounters one = {.sent_bytes = 1,
                           .received_bytes = 20,
                           .sent_messages = 300,
                           .received_messages = 4000,
                           .grants = 5,
                           .stalls = 60,
                           .stalled_ns = 700,
                           .given_up = 8000,
                           .retransmitted = 9,
                           .dropped = 100,
                           .damaged = 12,
                           .retries = 11};
  NetCounters sum = one;
  sum += one;
  EXPECT_EQ(sum.sent_bytes, 2u);
  EXPECT_EQ(sum.received_bytes, 40u);
  EXPECT_EQ(sum.sent_messages, 600u);
  EXPECT_EQ(sum.received_messages, 8000u);
  EXPECT_EQ(sum.grants, 10u);
  EXPECT_EQ(sum.stalls, 120u);
  EXPECT_EQ(sum.stalled_ns, 1400u);
  EXPECT_EQ(sum.given_up, 16000u);
  EXPECT_EQ(sum.retransmitted, 18u);
  EXPECT_EQ(sum.dropped, 200u);
  EXPECT_EQ(sum.damaged, 24u);
  EXPECT_EQ(sum.retries, 22u);
}

TEST(NetCounters, SayOnlyWhatThereWas) {
  EXPECT_FALSE(NetCounters().carried());
  NetCounters counted = {.sent_bytes = 700, .received_bytes = 60, .sent_messages = 7, .received_messages = 2};
  EXPECT_TRUE(counted.carried());
  EXPECT_EQ(counted.describe(), "700 bytes in 7 messages sent, 60 in 2 received");
  counted.stalls = 3;
  counted.stalled_ns = 1'250'000;
  counted.dropped = 5;
  EXPECT_THAT(counted.describe(),
              AllOf(HasSubstr("3 stalls waiting for credit, 1.2 ms"), HasSubstr("5 packets"),
                    Not(HasSubstr("segments")), Not(HasSubstr("abandoned")), Not(HasSubstr("retries"))));
  counted.retries = 4;
  EXPECT_THAT(counted.describe(), HasSubstr("4 retries by this host's RDMA ports"));
}

TEST(LiveNetCounters, LosesNothingWhenSeveralThreadsCount) {
  constexpr uint64_t kTimes = 20'000;
  LiveNetCounters live_counters;
  const auto count = [&live_counters] {
    for (uint64_t i = 0; i < kTimes; ++i) {
      live_counters.sent(3);
      live_counters.received(5);
    }
  };
  std::thread other(count);
  count();
  other.join();
  EXPECT_EQ(live_counters.read().sent_bytes, 2 * kTimes * 3);
  EXPECT_EQ(live_counters.read().received_bytes, 2 * kTimes * 5);
  EXPECT_EQ(live_counters.read().sent_messages, 2 * kTimes);
}

}  // namespace
}  // namespace weir
