// SPDX-License-Identifier: Apache-2.0
// Queue pairs that were abandoned and are used again.
#include "transports/verbs/failback.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "tests/transports/both_ends.h"
#include "tests/transports/verbs_node.h"

namespace weir::testing {
namespace {

using drivers::VerbsEvent;

/// By rail, at the sender and at the receiver.
constexpr const char* kDevices[2][2] = {{"fake0", "fake2"}, {"fake1", "fake3"}};

/// The channel is from fake0 and fake1 to fake2 and fake3. The parameter is the number of queue pairs per
/// rail.
class VerbsFailback : public BothEnds, public ::testing::WithParamInterface<int> {
 protected:
  void open(bool split = false, uint32_t slot_bytes = 1000, double pause_s = 0.05) {
    close_channel();
    for (Node& node : nodes_) node = Node();
    fabric_ = std::make_unique<FakeFabric>(4);
    Options options = queue_pairs_per_rail(GetParam(), split);
    options.path_timeout_s = pause_s;
    for (Rank rank : {0, 1}) nodes_[rank] = verbs_node(*fabric_, rank, options);
    open_channel(3, slot_bytes);
  }
  ~VerbsFailback() override {
    close_channel();
    for (Node& node : nodes_) node = Node();  // before the fabric
  }
  /// Nothing goes over the device any more, and both ends find that out.
  void lose(const std::string& device) {
    fabric_->fail(device);
    exchange(2, 500);
    fabric_->fail(device);  // what was posted meanwhile
    exchange(2, 500);
  }
  /// Exchanges messages until the device sends again.
  void await_bytes_from(const std::string& device) {
    const uint64_t before = fabric_->bytes_from(device);
    eventually("bytes from the device", [&] {
      exchange(2, 700);
      return fabric_->bytes_from(device) > before;
    });
  }
  /// Exchanges messages until all queue pairs of the device send their share.
  void await_all_of(const std::string& device) {
    const auto pairs = static_cast<uint64_t>(GetParam());
    eventually("all queue pairs", [&] {
      const uint64_t before = fabric_->bytes_from(device);
      exchange(2 * GetParam(), 500);  // each of them sends so many messages
      return fabric_->bytes_from(device) - before >= pairs * kSlots * 500;
    });
  }
  /// How many queue pairs the sender has abandoned.
  uint64_t given_up() const { return nodes_[0].transport->counters().given_up; }

  std::unique_ptr<FakeFabric> fabric_;
};
INSTANTIATE_TEST_SUITE_P(PerRail, VerbsFailback, ::testing::Values(1, 3),
                         [](const auto& info) { return std::to_string(info.param); });

TEST_P(VerbsFailback, ARailThatWorksAgainIsUsedAgain) {
  open();
  exchange(3, 500);
  for (const std::string device : {"fake0", "fake1", "fake0"}) {
    lose(device);
    const uint64_t silent = fabric_->bytes_from(device);
    exchange(10, 500);
    EXPECT_EQ(fabric_->bytes_from(device), silent);
    fabric_->mend(device);
    await_all_of(device);
  }
  EXPECT_EQ(given_up(), 3u * static_cast<uint64_t>(GetParam()));
  EXPECT_EQ(nodes_[0].transport->counters().sent_messages, sent_) << "what was sent again counts once";
  EXPECT_EQ(nodes_[1].transport->counters().received_messages, taken_);
}

TEST_P(VerbsFailback, ARailMayBreakAtTheReceiver) {
  open(true, 64000);
  exchange(2, 64000);
  for (const std::string device : {"fake2", "fake3"}) {
    lose(device);
    fabric_->mend(device);
    await_bytes_from(device == "fake2" ? "fake0" : "fake1");
    exchange(3, 64000);
  }
}

/// The other rail may be lost then, and nothing is missing.
TEST_P(VerbsFailback, TheRegainedRailCarriesAllWhereTheOtherIsLost) {
  open();
  exchange(3, 500);
  lose("fake0");
  fabric_->mend("fake0");
  await_all_of("fake0");
  fabric_->set_wire("fake1", Wire::silent);
  fill_slots(500);
  fabric_->fail("fake1");
  take_all(500);
  exchange(20, 900);
}

/// A port that is down is not tried; nobody finds out before it is up.
TEST_P(VerbsFailback, APortThatIsUpAgainIsTried) {
  open();
  exchange(2, 500);
  fabric_->set_wire("fake3", Wire::silent);
  fabric_->tell("fake3", VerbsEvent::Kind::port_down);
  eventually("abandoned", [&] {
    exchange(1, 500);
    return given_up() == static_cast<uint64_t>(GetParam());
  });
  exchange(20, 500);
  fabric_->mend("fake3");
  fabric_->tell("fake3", VerbsEvent::Kind::port_up);
  await_bytes_from("fake1");
}

/// Probes of the first attempt do not arrive.
TEST_P(VerbsFailback, AnAttemptThatGetsNoAnswerIsRepeated) {
  open();
  exchange(2, 500);
  lose("fake0");
  fabric_->mend("fake0");
  fabric_->set_wire("fake0", Wire::silent);
  const uint64_t before = fabric_->bytes_from("fake0");
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  while (std::chrono::steady_clock::now() < until) exchange(1, 500);
  EXPECT_EQ(fabric_->bytes_from("fake0"), before);
  fabric_->fail("fake0");
  fabric_->mend("fake0");
  await_bytes_from("fake0");
}

/// The devices of a rail fail and work again at any point of attempts.
TEST_P(VerbsFailback, ARailMayBreakAtAnyPointOfAnAttempt) {
  std::mt19937 random(31);
  uint64_t lost = 0;
  constexpr int kRounds = 200, kRoundsEach = 25;
  const auto enough = static_cast<uint64_t>(GetParam() * kRounds / kRoundsEach);  // more than once each
  // On a busy machine a rail is mended before it is given up more often, so there are more rounds.
  for (int round = 0; round < kRounds || (lost <= enough && round < 10 * kRounds); ++round) {
    if (round % kRoundsEach == 0) {  // pauses grow
      if (round > 0) lost += given_up();
      open(round % (2 * kRoundsEach) == 0, 5000, 0.00002);
      exchange(2, 5000);
    }
    const std::string device = kDevices[round / kRoundsEach % 2][random() % 2];
    for (uint32_t looks = random() % 200; looks > 0; --looks) {
      fill_slots(5000);
      serve(*sender_);
      serve(*receiver_);
    }
    if (random() % 3 == 0) fabric_->set_wire(device, Wire::silent);
    if (random() % 2 == 0) fill_slots(5000);
    fabric_->fail(device);
    fill_slots(5000);
    take_all(5000);
    fabric_->mend(device);
  }
  exchange(20, 4096);
  EXPECT_GT(lost, enough);
}

}  // namespace
}  // namespace weir::testing
