// SPDX-License-Identifier: Apache-2.0
// Channels of verbs whose slots lie in registered memory, as those of GPUs do.
#include <gmock/gmock.h>

#include <cstring>

#include "tests/transports/both_ends.h"
#include "tests/transports/memory_file.h"
#include "tests/transports/verbs_node.h"
#include "transports/faulty.h"
#include "transports/paced.h"
#include "transports/slot_registrar.h"

namespace weir::testing {
namespace {

using ::testing::HasSubstr;

/// Both ends' slots lie in the middle of registered memory.
struct RegisteredEnds {
  std::string name;
  bool sender = false;
  bool receiver = false;
  int64_t queue_pairs = 1;
  bool split = false;
};

class VerbsRegisteredSlots : public BothEnds, public ::testing::WithParamInterface<RegisteredEnds> {
 protected:
  static constexpr size_t kAt = 4096;

  void SetUp() override {
    const RegisteredEnds& ends = GetParam();
    for (const Rank rank : {0, 1}) {
      nodes_[rank] = verbs_node(fabric_, rank, queue_pairs_per_rail(ends.queue_pairs, ends.split));
      if (!(rank == 0 ? ends.sender : ends.receiver)) continue;
      const Status registered = nodes_[rank].transport->slot_registrar()->register_slots(memory_[rank]);
      ASSERT_TRUE(registered.ok()) << registered.message();
      slot_memory_[rank] = memory_[rank].begin() + kAt;
    }
  }
  ~VerbsRegisteredSlots() override {
    close_channel();
    for (Node& node : nodes_) node = Node();  // before the fabric and the memory
  }

  FakeFabric fabric_{4};
  MemoryFile memory_[2]{MemoryFile(1 << 20), MemoryFile(1 << 20)};
};

TEST_P(VerbsRegisteredSlots, MessagesOfAllSizes) {
  open_channel(1, 20480);
  for (const uint32_t bytes : {0u, 1u, 127u, 4096u, 20480u}) exchange(3, bytes);
  EXPECT_EQ(fabric_.overflows(), 0);
}

TEST_P(VerbsRegisteredSlots, MessagesAreInTheSlotsOfTheirNumbers) {
  open_channel(1, 4096);
  for (uint64_t i = 0; i < 6; ++i) {
    std::byte* const slot = sender_->acquire();
    ASSERT_NE(slot, nullptr);
    if (slot_memory_[0] != nullptr) {
      EXPECT_EQ(slot, slot_memory_[0] + i % kSlots * 4096);
    }
    std::memset(slot, static_cast<int>(i + 1), 100);
    sender_->publish(i, 100);
    eventually("a message",
               [&] { return serve(*sender_) && serve(*receiver_) && receiver_->peek() != nullptr; });
    const Message& message = *receiver_->peek();
    EXPECT_EQ(message.tag, i);
    EXPECT_EQ(message.bytes, 100u);
    if (slot_memory_[1] != nullptr) {
      EXPECT_EQ(message.data, slot_memory_[1] + i % kSlots * 4096);
    }
    EXPECT_EQ(message.data[99], static_cast<std::byte>(i + 1));
    receiver_->release();
    eventually("a free slot",
               [&] { return serve(*receiver_) && serve(*sender_) && sender_->acquire() != nullptr; });
  }
}

TEST_P(VerbsRegisteredSlots, WhatALostRailSwallowedIsSentAgain) {
  open_channel(1, 4096);
  exchange(3, 500);
  fabric_.set_wire("fake0", Wire::silent);
  fill_slots(500);
  fabric_.fail("fake0");
  take_all(500);
  exchange(10, 500);
}

INSTANTIATE_TEST_SUITE_P(Ends, VerbsRegisteredSlots,
                         ::testing::Values(RegisteredEnds{"both", true, true},
                                           RegisteredEnds{"sender", true, false},
                                           RegisteredEnds{"receiver", false, true},
                                           RegisteredEnds{"both_split", true, true, 3, true}),
                         [](const auto& info) { return info.param.name; });

/// What adapters do not take is refused, and channels go as before.
class VerbsLending : public ::testing::Test {
 protected:
  FakeFabric fabric_{4};
  MemoryFile memory_{1 << 16};
  Node node_ = verbs_node(fabric_, 0, {});
};

TEST_F(VerbsLending, ByAddressesWhereThereIsNoFile) {
  memory_.has_file = false;
  EXPECT_TRUE(node_.transport->slot_registrar()->register_slots(memory_).ok());
}

TEST_F(VerbsLending, NotToPortsThatAreTooFarAway) {
  memory_.forbidden = "fake1";
  const Status registered = node_.transport->slot_registrar()->register_slots(memory_);
  EXPECT_EQ(registered.code(), Code::invalid_usage);
  EXPECT_THAT(registered.message(), HasSubstr("fake1 is too far away"));
}

TEST_F(VerbsLending, RefusedRegistrationsAreSaid) {
  fabric_.refuse_regions("fake0");
  const Status registered = node_.transport->slot_registrar()->register_slots(memory_);
  EXPECT_EQ(registered.code(), Code::system_error);
  EXPECT_THAT(registered.message(),
              HasSubstr("fake0 takes no regions; registration by address failed, too: fake0 takes no"));
}

TEST_F(VerbsLending, SlotsOutsideAreRefused) {
  ASSERT_TRUE(node_.transport->slot_registrar()->register_slots(memory_).ok());
  for (std::byte* const at : {memory_.begin() - 4096, memory_.begin() + (1 << 16) - 4096}) {
    const auto sender = node_.transport->open_sender(node_.transport->address(), {0, 1, 7, 2, 4096, at});
    EXPECT_EQ(sender.status().code(), Code::invalid_argument);
    EXPECT_THAT(sender.status().message(), HasSubstr("not in memory that was registered with verbs"));
  }
}

/// Decorators hand it on. What was taken back is no longer there to open ends in.
TEST_F(VerbsLending, ThroughDecoratorsUntilItIsTakenBack) {
  node_.transport = make_faulty(make_paced(std::move(node_.transport)), {});
  const auto open = [&] {
    return node_.transport->open_sender(node_.transport->address(), {0, 1, 7, 2, 4096, memory_.begin()})
        .status();
  };
  EXPECT_EQ(open().code(), Code::invalid_argument);
  const Status registered = node_.transport->slot_registrar()->register_slots(memory_);
  ASSERT_TRUE(registered.ok()) << registered.message();
  EXPECT_TRUE(open().ok()) << open().message();
  node_.transport->slot_registrar()->deregister_slots(memory_);
  EXPECT_EQ(open().code(), Code::invalid_argument);
}

/// With heads apart a message has a part more; devices that take short requests only have room for that.
class VerbsSlotsInShortRequests : public VerbsLending {
 protected:
  static constexpr uint32_t kMostBytes = 1024;

  Status open(uint32_t slot_bytes) {
    FakeFabric fabric(4, kMostBytes);
    Node node = verbs_node(fabric, 0, {});
    return node.transport->open_sender(node.transport->address(), {0, 1, 7, 2, slot_bytes}).status();
  }
};

TEST_F(VerbsSlotsInShortRequests, ManyPartsLeaveRoomForTheHead) {
  EXPECT_TRUE(open(62 * kMostBytes).ok());
  EXPECT_THAT(open(64 * kMostBytes - 64).message(), HasSubstr("at most 63 requests of 1024 bytes"));
}

}  // namespace
}  // namespace weir::testing
