// SPDX-License-Identifier: Apache-2.0

#include "tests/transports/both_ends.h"

namespace weir::testing {

void BothEnds::open_channel(uint32_t channel, uint32_t slot_bytes, const Bytes& address) {
  close_channel();
  sent_ = taken_ = 0;
  const LinkSpec spec{0, 1, channel, kSlots, slot_bytes, slot_memory_[0]};
  const LinkSpec other{1, 0, channel, kSlots, slot_bytes, slot_memory_[1]};
  auto sender = nodes_[0].transport->open_sender(address, spec);
  auto receiver = nodes_[1].transport->open_receiver(nodes_[0].transport->address(), other);
  ASSERT_TRUE(sender.ok()) << sender.status().message();
  ASSERT_TRUE(receiver.ok()) << receiver.status().message();
  sender_ = std::move(*sender);
  receiver_ = std::move(*receiver);
  await_ready(*sender_, *receiver_);
}

uint64_t BothEnds::fill_slots(uint32_t bytes) {
  const uint64_t before = sent_;
  while (sender_->acquire() != nullptr) send(*sender_, 0, sent_++, bytes);
  return sent_ - before;
}

void BothEnds::take_all(uint32_t bytes) {
  eventually("all messages", [&] {
    serve(*sender_);
    serve(*receiver_);
    for (; receiver_->peek() != nullptr; ++taken_) receive(*receiver_, 0, taken_, bytes);
    return taken_ == sent_;
  });
}

void BothEnds::exchange(int rounds, uint32_t bytes) {
  for (int i = 0; i < rounds; ++i) {
    eventually("a free slot",
               [&] { return serve(*sender_) && serve(*receiver_) && sender_->acquire() != nullptr; });
    fill_slots(bytes);
    take_all(bytes);
  }
  eventually("flushed", [&] { return serve(*receiver_) && serve(*sender_) && sender_->flushed(); });
}

}  // namespace weir::testing
