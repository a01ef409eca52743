// SPDX-License-Identifier: Apache-2.0

#include "transports/verbs/verbs.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "src/base/host.h"
#include "tests/transports/both_ends.h"
#include "tests/transports/registered_slots.h"
#include "tests/transports/verbs_node.h"
#include "transports/address.h"
#include "transports/setup_connection.h"
#include "transports/verbs/ports.h"
#include "transports/verbs/wire.h"

namespace weir::testing {
namespace {

using drivers::VerbsEvent;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Setup> verbs_setups() {
  const auto node = [](int devices, const Options& options, bool registers = false) {
    const auto fabric = std::make_shared<FakeFabric>(devices);
    return [=](Rank rank) {
      Node node = verbs_node(*fabric, rank, options);
      if (registers) node.transport = std::make_unique<RegisteredSlots>(std::move(node.transport));
      return node;
    };
  };
  return with_faults({{"threads", PeerKind::threads, node(4, {}), true},
                      {"threads_split", PeerKind::threads, node(4, queue_pairs_per_rail(3, true)), true},
                      {"threads_registered", PeerKind::threads, node(4, {}, true), true}});
}

INSTANTIATE_TEST_SUITE_P(Verbs, Conformance, ::testing::ValuesIn(verbs_setups()), setup_name);

/// The channel is from fake0 and fake1 to fake2 and fake3.
class VerbsFailover : public BothEnds {
 protected:
  void open(const Options& options = {}, uint32_t slot_bytes = 1000, uint32_t most_bytes = 1u << 30) {
    close_channel();
    for (Node& node : nodes_) node = Node();
    fabric_ = std::make_unique<FakeFabric>(4, most_bytes);
    for (Rank rank : {0, 1}) nodes_[rank] = verbs_node(*fabric_, rank, options);
    open_channel(3, slot_bytes);
  }
  ~VerbsFailover() override {
    close_channel();
    for (Node& node : nodes_) node = Node();  // before the fabric
  }
  void exchange(int rounds, uint32_t bytes) {
    BothEnds::exchange(rounds, bytes);
    EXPECT_EQ(fabric_->overflows(), 0);
  }
  void look_at_events() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
    while (std::chrono::steady_clock::now() < until) {
      serve(*sender_);
      serve(*receiver_);
    }
  }
  /// The sender has the credits for all that was received, and wants nothing.
  void settle() {
    for (int i = 0; i < 10; ++i) {
      serve(*receiver_);
      serve(*sender_);
    }
    EXPECT_NE(sender_->acquire(), nullptr);
  }

  std::unique_ptr<FakeFabric> fabric_;
};

TEST_F(VerbsFailover, MessagesTakeTurnsOnTheRails) {
  open();
  exchange(10, 900);
  EXPECT_EQ(fabric_->bytes_from("fake0"), fabric_->bytes_from("fake1"));
  EXPECT_GE(fabric_->bytes_from("fake0"), sent_ / 2 * 900);
}

TEST_F(VerbsFailover, SplitMessagesUseAllRails) {
  open(queue_pairs_per_rail(1, true), 64000);
  send(*sender_, 0, sent_++, 64000);
  take_all(64000);
  EXPECT_GT(fabric_->bytes_from("fake0"), 31000u);
  EXPECT_GT(fabric_->bytes_from("fake1"), 31000u);
}

TEST_F(VerbsFailover, NoRequestIsLongerThanTheDeviceTakes) {
  open({}, 9000, 1024);  // the fabric checks
  exchange(5, 9000);
  exchange(5, 1);
}

TEST_F(VerbsFailover, WhatALostRailSwallowedIsSentAgain) {
  open(queue_pairs_per_rail(2, false));
  exchange(3, 500);
  fabric_->set_wire("fake0", Wire::silent);
  fill_slots(500);
  fabric_->fail("fake0");
  take_all(500);
  const uint64_t before = fabric_->bytes_from("fake0");
  exchange(10, 500);
  EXPECT_EQ(fabric_->bytes_from("fake0"), before);
  const NetCounters counted = nodes_[0].transport->counters();
  EXPECT_EQ(counted.given_up, 2u) << "queue pairs of the rail";
  EXPECT_EQ(counted.sent_bytes, sent_ * 500) << "what was sent again counts once";
}

TEST_F(VerbsFailover, WhatArrivedWithoutAnAnswerIsTakenOnce) {
  open();
  exchange(1, 500);
  fabric_->set_wire("fake0", Wire::one_way);
  fill_slots(500);
  fabric_->fail("fake0");
  take_all(500);
  exchange(10, 700);
}

TEST_F(VerbsFailover, ARailMayBreakAtTheReceiver) {
  open(queue_pairs_per_rail(1, true), 20000);
  exchange(2, 20000);
  fabric_->set_wire("fake3", Wire::silent);
  fill_slots(20000);
  fabric_->fail("fake3");
  take_all(20000);
  exchange(5, 20000);
}

TEST_F(VerbsFailover, APortThatGoesDownIsAvoidedAtOnce) {
  for (const char* device : {"fake1", "fake3"}) {
    open();
    exchange(2, 500);
    fabric_->set_wire(device, Wire::silent);
    fabric_->tell(device, VerbsEvent::Kind::port_down);
    fill_slots(500);
    take_all(500);  // nothing has failed yet
    exchange(3, 500);
  }
}

TEST_F(VerbsFailover, TheLastRailMayComeUpAgain) {
  open();
  fabric_->fail("fake0");
  exchange(2, 500);
  fabric_->tell("fake1", VerbsEvent::Kind::port_down);
  look_at_events();
  exchange(2, 500);
  fabric_->tell("fake1", VerbsEvent::Kind::port_up);
  look_at_events();
  exchange(2, 500);
}

/// It has nothing to send that could fail.
TEST_F(VerbsFailover, AReceiverWhoseLastRailStaysDownSaysSo) {
  Options options;
  options.ib_timeout = 12;  // 17 ms, and as long again
  options.ib_retry_count = 1;
  open(options);
  exchange(2, 500);
  EXPECT_EQ(receiver_->peek(), nullptr);
  for (const char* device : {"fake2", "fake3"}) fabric_->tell(device, VerbsEvent::Kind::port_down);
  const Status trouble = await_trouble(*receiver_, 10000);
  EXPECT_EQ(trouble.code(), Code::remote_error);
  EXPECT_THAT(trouble.message(),
              AllOf(HasSubstr("has lost its last RDMA queue pair"), HasSubstr("the port is down")));
}

TEST_F(VerbsFailover, DevicesPaceTheChannelWhereTheyCan) {
  open();
  EXPECT_FALSE(sender_->pace(4e6));
  for (const char* device : {"fake0", "fake1"}) fabric_->set_pacing(device, {.least = 1000, .most = 50'000});
  EXPECT_TRUE(sender_->pace(2e6));
  EXPECT_THAT(fabric_->rates_of("fake0"), ElementsAre(8000));
  EXPECT_THAT(fabric_->rates_of("fake1"), ElementsAre(8000));
  EXPECT_FALSE(sender_->pace(1000));
  EXPECT_THAT(fabric_->rates_of("fake0"), ElementsAre(0));
  EXPECT_TRUE(sender_->pace(0));
  EXPECT_THAT(fabric_->rates_of("fake2"), ElementsAre(0));
}

TEST_F(VerbsFailover, WithoutAQueuePairTheSenderSaysWhichWasTheLast) {
  open();
  exchange(1, 500);
  EXPECT_EQ(receiver_->peek(), nullptr);
  fabric_->fail("fake0");
  take_all(0);
  fabric_->fail("fake1");
  fabric_->fail("fake3");
  for (uint32_t i = 0; i < kSlots && sender_->acquire() != nullptr; ++i) sender_->publish(1, 100);
  const Status trouble = await_trouble(*sender_, 10000);
  EXPECT_EQ(trouble.code(), Code::remote_error);
  EXPECT_THAT(trouble.message(),
              AllOf(HasSubstr("channel 3 from rank 0 to rank 1"), HasSubstr("fake1:1 (10.0.0.2)"),
                    HasSubstr("10.0.0.4 of rank 1 (address 127.0.0.1"), HasSubstr("retry counter")));
}

TEST_F(VerbsFailover, ALostDeviceIsNamed) {
  open();
  exchange(1, 500);
  fabric_->tell("fake0", VerbsEvent::Kind::device_lost);
  look_at_events();
  exchange(2, 500);
  settle();
  fabric_->tell("fake1", VerbsEvent::Kind::device_lost);
  EXPECT_EQ(sender_->progress().code(), Code::success);  // nothing is wanted
  Status trouble;
  for (int i = 0; i < 100000 && trouble.ok(); ++i) {
    if (sender_->acquire() != nullptr) sender_->publish(1, 100);
    trouble = sender_->progress();
  }
  EXPECT_THAT(trouble.message(), AllOf(HasSubstr("fake1:1"), HasSubstr("the device was removed")));
}

TEST(VerbsTest, SaysWhyNobodyIsReached) {
  FakeFabric fabric(4);
  const Node node = verbs_node(fabric, 0, {});
  const auto why = [](Result<std::unique_ptr<drivers::Verbs>> verbs, const Options& options) {
    return make_verbs(test_identity(0), nullptr, std::move(verbs), options)->reach({}).why_not;
  };
  EXPECT_THAT(why(Status(Code::system_error, "no library"), {}), HasSubstr("no library"));
  Options options;
  options.ib_disable = true;
  EXPECT_THAT(why(fabric.verbs(), options), HasSubstr("NCCL_IB_DISABLE"));
  options = {};
  options.ib_hca = "mlx5";
  EXPECT_THAT(why(fabric.verbs(), options), HasSubstr("fake0:1: excluded by NCCL_IB_HCA=mlx5"));
  EXPECT_THAT(why(fabric.verbs(), {}), HasSubstr("does not listen"));
  EXPECT_THAT(node.transport->reach({}).why_not, HasSubstr("the peer has no usable RDMA port"));
}

TEST(VerbsTest, SharesNoNetworkWithAnotherKindOfPort) {
  FakeFabric fabric(4);
  const Node node = verbs_node(fabric, 0, {});
  ByteWriter address = begin_address("verbs", 4, {1, host_identity("")});
  address.put(node.listener->address()).put(uint32_t{1});
  verbs::PortAddress{.name = "mlx5_0:1", .lid = 7, .network_bits = 64}.put(address);
  EXPECT_THAT(node.transport->reach(address.take()).why_not,
              AllOf(HasSubstr("mlx5_0:1"), HasSubstr("fake0:1 (10.0.0.1)")));
}

TEST(VerbsTest, RefusesAStrangersOffer) {
  FakeFabric fabric(4);
  const Node node = verbs_node(fabric, 1, {});
  const Node peer = verbs_node(fabric, 0, {});
  const LinkSpec spec{.self = 1, .peer = 0, .channel = 9};
  for (const bool framed : {false, true}) {
    auto receiver = node.transport->open_receiver(peer.transport->address(), spec);
    ASSERT_TRUE(receiver.ok());
    const auto key = verbs::delivery_key(test_identity(1).uid, 0, 1, 9);
    auto stranger = deliver(node.listener->address(), key, {}, Deadline::in_ms(5000));
    ASSERT_TRUE(stranger.ok());
    ByteWriter garbage;
    if (framed) garbage.put(FrameHead{.bytes = sizeof(verbs::Offer)});
    garbage.put(verbs::Offer{.slots = spec.slots, .slot_bytes = spec.slot_bytes, .queue_pairs = 1u << 31});
    ASSERT_TRUE(send_all(*stranger, garbage.take(), Deadline::in_ms(5000)).ok());
    if (framed) {
      EXPECT_THAT(await_refusal(**receiver, 10000).message(), HasSubstr("invalid offer"));
    } else {
      EXPECT_TRUE(await_refusal(**receiver, 100).ok());  // no sender of ours: the right one may still come
    }
  }
}

TEST(VerbsTest, NamesAListenerThatIsClosed) {
  FakeFabric fabric(4);
  const Node node = verbs_node(fabric, 0, {});
  Bytes address;
  uint16_t port = 0;
  {
    const Node gone = verbs_node(fabric, 1, {});
    address = gone.transport->address();
    port = gone.listener->address().port();
  }
  auto sender = node.transport->open_sender(address, {.self = 0, .peer = 1});
  const Status trouble = sender.ok() ? await_refusal(**sender, 10000) : sender.status();
  EXPECT_EQ(trouble.code(), Code::remote_error);
  EXPECT_THAT(trouble.message(), HasSubstr(std::to_string(port)));
}

}  // namespace
}  // namespace weir::testing
