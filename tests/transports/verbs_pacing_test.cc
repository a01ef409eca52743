// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include <cmath>

#include "tests/transports/fake_verbs.h"
#include "transports/verbs/queue_pairs.h"

namespace weir::testing {
namespace {

using drivers::VerbsPacing;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr VerbsPacing kPacing = {.least = 1000, .most = 50'000};  // 125 kB/s to 6.25 MB/s

TEST(VerbsPacingTest, RatesAreWholeKilobitsThatAreNotMoreThanAskedFor) {
  EXPECT_EQ(*kPacing.rate_for(1'000'000, "d"), 8000u);
  EXPECT_EQ(*kPacing.rate_for(1'000'100, "d"), 8000u);
  EXPECT_EQ(*kPacing.rate_for(125'000, "d"), 1000u);
  EXPECT_EQ(*kPacing.rate_for(1e12, "d"), 50'000u);
  EXPECT_EQ(*kPacing.rate_for(INFINITY, "d"), 50'000u);
  EXPECT_EQ(*kPacing.rate_for(0, "d"), 0u);
}

TEST(VerbsPacingTest, RefusesWhatTheDeviceCannotDo) {
  const Status slow = kPacing.rate_for(124'999, "mlx5_0").status();
  EXPECT_EQ(slow.code(), Code::invalid_usage);
  EXPECT_THAT(slow.message(), HasSubstr("mlx5_0 cannot pace queue pairs below 1000 kbit/s"));
  EXPECT_EQ((VerbsPacing{.least = 0, .most = 10}).rate_for(100, "d").status().code(), Code::invalid_usage);
  EXPECT_EQ(kPacing.rate_for(-1, "d").status().code(), Code::invalid_argument);
  EXPECT_EQ(kPacing.rate_for(NAN, "d").status().code(), Code::invalid_argument);
  EXPECT_THAT(VerbsPacing().rate_for(1e9, "rxe0").status().message(), HasSubstr("rxe0 cannot pace"));
  EXPECT_EQ(*VerbsPacing().rate_for(0, "rxe0"), 0u);
}

/// Four queue pairs, two over each of fake0 and fake1, to a peer that has fake2 and fake3.
class PacedQueuePairs : public ::testing::Test, private verbs::QueuePairUser {
 protected:
  void SetUp() override {
    const auto peer = rails("fake2,fake3");
    rails_ = rails("fake0,fake1");
    auto slots = verbs::Slots::make({}, nullptr);
    ASSERT_TRUE(slots.ok()) << slots.status().message();
    slots_ = std::make_unique<verbs::Slots>(std::move(*slots));
    queue_pairs_ = std::make_unique<verbs::QueuePairs>(*rails_, "channel 0", "rank 1");
    ASSERT_TRUE(queue_pairs_->make({{0, 0}, {1, 1}, {0, 0}, {1, 1}}, {}, 8, *slots_).ok());
    for (uint32_t i = 0; i < queue_pairs_->size(); ++i) {
      const uint16_t port = i % 2;
      ASSERT_TRUE(queue_pairs_->connect(i, {.pair = 7 + i, .gid = peer->addresses()[port].gid}).ok());
    }
  }
  std::unique_ptr<verbs::Rails> rails(const std::string& devices) {
    Options options;
    options.ib_hca = devices;
    verbs_.push_back(fabric_.verbs());
    auto opened = verbs::Rails::open(*verbs_.back(), options, {});
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return std::move(*opened);
  }
  /// What breaks fake1, so that its queue pairs are given up.
  void lose_fake1() {
    fabric_.tell("fake1", drivers::VerbsEvent::Kind::port_down);
    for (int look = 0; look < 10'000'000 && queue_pairs_->live() > 2; ++look) queue_pairs_->serve(*this);
    ASSERT_EQ(queue_pairs_->live(), 2u);
  }

  FakeFabric fabric_{4};

 private:
  void arrived(uint32_t, const verbs::Immediate&) override {}
  void completed(uint32_t, uint64_t) override {}
  void given_up(uint32_t) override {}
  void peer_halted(uint32_t) override {}
  void regained(uint32_t) override {}

  std::vector<std::unique_ptr<drivers::Verbs>> verbs_;
  std::unique_ptr<verbs::Rails> rails_;
  std::unique_ptr<verbs::Slots> slots_;

 protected:
  std::unique_ptr<verbs::QueuePairs> queue_pairs_;
};

TEST_F(PacedQueuePairs, ShareTheRateOfTheChannel) {
  for (const char* device : {"fake0", "fake1"}) fabric_.set_pacing(device, kPacing);
  EXPECT_TRUE(queue_pairs_->set_rate(4'000'000).ok());
  EXPECT_THAT(fabric_.rates_of("fake0"), ElementsAre(8000, 8000));
  EXPECT_THAT(fabric_.rates_of("fake1"), ElementsAre(8000, 8000));
  EXPECT_TRUE(queue_pairs_->set_rate(0).ok());
  EXPECT_THAT(fabric_.rates_of("fake0"), ElementsAre(0, 0));
}

TEST_F(PacedQueuePairs, TakeTheShareOfThoseThatAreGivenUp) {
  for (const char* device : {"fake0", "fake1"}) fabric_.set_pacing(device, kPacing);
  ASSERT_TRUE(queue_pairs_->set_rate(4'000'000).ok());
  lose_fake1();
  EXPECT_THAT(fabric_.rates_of("fake0"), ElementsAre(16'000, 16'000));
}

TEST_F(PacedQueuePairs, AreNotPacedIfOneDeviceCannot) {
  fabric_.set_pacing("fake0", kPacing);
  const Status refused = queue_pairs_->set_rate(4'000'000);
  EXPECT_EQ(refused.code(), Code::invalid_usage);
  EXPECT_THAT(refused.message(), HasSubstr("fake1 cannot pace"));
  EXPECT_THAT(fabric_.rates_of("fake0"), Each(0u));
  EXPECT_THAT(fabric_.rates_of("fake1"), Each(0u));
  lose_fake1();
  EXPECT_THAT(fabric_.rates_of("fake0"), Each(0u));  // what was refused is forgotten
}

TEST_F(PacedQueuePairs, NameEachWayOnce) {
  EXPECT_EQ(queue_pairs_->paths(),
            "port fake0:1 (10.0.0.1) to 10.0.0.3, port fake1:1 (10.0.0.2) to 10.0.0.4");
}

}  // namespace
}  // namespace weir::testing
