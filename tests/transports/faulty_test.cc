// SPDX-License-Identifier: Apache-2.0

#include "transports/faulty.h"

#include <gmock/gmock.h>

#include "tests/transports/conformance.h"
#include "transports/memory/loop.h"

namespace weir::testing {
namespace {

using ::testing::HasSubstr;

/// A channel from rank 0 to itself, under faults.
class FaultyTest : public ::testing::Test {
 protected:
  void open(const Faults& faults) {
    segment_ = test_segment(0);
    transport_ = make_faulty(make_loop(test_identity(0), segment_.get(), &segments_), faults);
    const LinkSpec spec = {.self = 0, .peer = 0};
    sender_ = std::move(transport_->open_sender(transport_->address(), spec).value());
    receiver_ = std::move(transport_->open_receiver(transport_->address(), spec).value());
  }
  int looks_until_ready() {
    int looks = 1;
    while (!sender_->ready().value()) ++looks;
    return looks;
  }
  /// Sends a message and takes it; the looks that both took.
  int looks_for_message(uint64_t tag) {
    int looks = 2;
    for (; sender_->acquire() == nullptr; ++looks) continue;
    EXPECT_NE(sender_->acquire(), nullptr);
    sender_->publish(tag, 0);
    for (; receiver_->peek() == nullptr; ++looks) continue;
    EXPECT_NE(receiver_->peek(), nullptr);
    EXPECT_EQ(receiver_->peek()->tag, tag);
    receiver_->release();
    return looks;
  }

  LocalSegments segments_;
  std::unique_ptr<Segment> segment_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Sender> sender_;
  std::unique_ptr<Receiver> receiver_;
};

TEST_F(FaultyTest, DelaysAndKeepsOrder) {
  open({.seed = 3, .ready_stall = 5, .message_delay = 10, .room_delay = 10, .cut_after = 0});
  EXPECT_LE(looks_until_ready(), 6);
  int late = 0;
  for (uint64_t tag = 0; tag < 100; ++tag) late += looks_for_message(tag) > 2;
  EXPECT_GT(late, 10);
  EXPECT_LT(late, 90);
  EXPECT_TRUE(sender_->progress().ok());
  EXPECT_TRUE(receiver_->progress().ok());
}

TEST_F(FaultyTest, RepeatsItsTroublesForOneSeed) {
  std::vector<int> first, second;
  for (std::vector<int>* looks : {&first, &second}) {
    receiver_.reset(), sender_.reset(), transport_.reset();
    open({.seed = 11, .ready_stall = 9, .message_delay = 30, .room_delay = 30, .cut_after = 0});
    looks->push_back(looks_until_ready());
    for (uint64_t tag = 0; tag < 50; ++tag) looks->push_back(looks_for_message(tag));
  }
  EXPECT_EQ(first, second);
}

TEST_F(FaultyTest, CutsAfterSoManyMessages) {
  open({.seed = 1, .ready_stall = 0, .message_delay = 0, .room_delay = 0, .cut_after = 3});
  looks_until_ready();
  for (uint64_t tag = 0; tag < 3; ++tag) {
    EXPECT_TRUE(sender_->progress().ok());
    looks_for_message(tag);
  }
  EXPECT_EQ(sender_->acquire(), nullptr);
  EXPECT_EQ(receiver_->peek(), nullptr);
  EXPECT_EQ(sender_->progress().code(), Code::remote_error);
  EXPECT_THAT(receiver_->progress().message(), HasSubstr("cut after 3 messages"));
}

}  // namespace
}  // namespace weir::testing
