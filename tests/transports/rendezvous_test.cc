// SPDX-License-Identifier: Apache-2.0
// Messages that stay in the sender's memory until the receiver reads them there.
#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/transports/conformance.h"
#include "tests/transports/link.h"

namespace weir::testing {
namespace {

using ::testing::HasSubstr;

class Rendezvous : public ::testing::TestWithParam<Setup> {};

INSTANTIATE_TEST_SUITE_P(Shm, Rendezvous,
                         ::testing::Values(Setup{"processes", PeerKind::processes, shm_node},
                                           Setup{"threads", PeerKind::threads, shm_node}),
                         setup_name);

/// Messages from 1,000 bytes on are rendezvous, of a channel with slots of 4 KiB.
LinkSpec rendezvous_spec(const Peer& peer) {
  LinkSpec spec = spec_for(peer, 3);
  spec.rendezvous_bytes = 1000;
  return spec;
}

std::vector<std::byte> bytes_of(uint64_t message, uint32_t bytes) {
  std::vector<std::byte> data(bytes);
  fill(data.data(), bytes, 1, message);
  return data;
}

const Message& next(Receiver& receiver) {
  const Message* message = nullptr;
  eventually("a message", [&] {
    message = receiver.peek();
    return message != nullptr;
  });
  return *message;
}

TEST_P(Rendezvous, BringsEverySizeInOrderAmongOtherMessages) {
  constexpr uint32_t kSizes[] = {8, 1000, 4096, 17, 40'000, 1 << 20, 999, 1 << 20, 5000, 0, 123'456};
  run_pair(GetParam().kind, [&](Peer& peer) {
    Link link(GetParam(), peer);
    if (peer.rank() == 0) {
      const auto sender = link.sender(rendezvous_spec(peer));
      await_ready(*sender);
      std::vector<std::vector<std::byte>> kept;
      for (int round = 0; round < 4; ++round) {
        for (const uint32_t size : kSizes) {
          kept.push_back(bytes_of(kept.size(), size));
          EXPECT_EQ(sender->spares_copies(size, true), size >= 1000);
          EXPECT_FALSE(sender->spares_copies(size, false));
          eventually("room", [&] { return sender->acquire() != nullptr; });
          sender->publish(kept.size(), size, {kept.back().data(), true});
        }
      }
      eventually("all is read", [&] { return sender->flushed(); });
      peer.meet();
    } else {
      const auto receiver = link.receiver(rendezvous_spec(peer));
      await_ready(*receiver);
      uint64_t number = 0;
      for (int round = 0; round < 4; ++round) {
        for (const uint32_t size : kSizes) {
          const Message& message = next(*receiver);
          EXPECT_EQ(message.tag, number + 1);
          ASSERT_EQ(message.bytes, size);
          std::vector<std::byte> got(size);
          if (size < 1000) {
            std::copy_n(message.data, size, got.data());
          } else if (size == 4096) {  // into the slot
            EXPECT_EQ(message.data, nullptr);
            ASSERT_TRUE(receiver->fetch(nullptr));
            std::copy_n(receiver->peek()->data, size, got.data());
          } else {
            EXPECT_EQ(message.data, nullptr);
            ASSERT_TRUE(receiver->fetch(got.data()));
          }
          EXPECT_EQ(got, bytes_of(number++, size));
          receiver->release();
        }
      }
      peer.meet();
    }
  });
}

constexpr uint32_t kBytes = 2000;

/// A sender that has published `data`, kBytes, to rank 1.
std::unique_ptr<Sender> sender_of(Link& link, const Peer& peer, const std::vector<std::byte>& data) {
  auto sender = link.sender(rendezvous_spec(peer));
  await_ready(*sender);
  EXPECT_NE(sender->acquire(), nullptr);
  sender->publish(7, kBytes, {data.data(), true});
  return sender;
}

TEST_P(Rendezvous, IsFlushedWhenTheReceiverHasReadIt) {
  run_pair(GetParam().kind, [&](Peer& peer) {
    Link link(GetParam(), peer);
    if (peer.rank() == 0) {
      const std::vector<std::byte> data = bytes_of(0, kBytes);
      const auto sender = sender_of(link, peer, data);
      EXPECT_FALSE(sender->flushed());
      peer.meet();
      peer.meet();
      EXPECT_TRUE(sender->flushed());
    } else {
      const auto receiver = link.receiver(rendezvous_spec(peer));
      await_ready(*receiver);
      peer.meet();
      std::vector<std::byte> got(kBytes);
      next(*receiver);
      EXPECT_TRUE(receiver->fetch(got.data()));
      EXPECT_EQ(got, bytes_of(0, kBytes));
      receiver->release();
      peer.meet();
    }
  });
}

/// A sender that ends early takes its memory back, whether it recalls it or goes.
void ends_early(const Setup& setup, bool recalls) {
  run_pair(setup.kind, [&](Peer& peer) {
    Link link(setup, peer);
    if (peer.rank() == 0) {
      std::vector<std::byte> data = bytes_of(0, kBytes);
      auto sender = sender_of(link, peer, data);
      if (recalls) {
        sender->recall();
      } else {
        sender.reset();
      }
      std::ranges::fill(data, std::byte{0});
      peer.meet();
      peer.meet();
    } else {
      const auto receiver = link.receiver(rendezvous_spec(peer));
      await_ready(*receiver);
      peer.meet();
      std::vector<std::byte> got(kBytes);
      next(*receiver);
      EXPECT_FALSE(receiver->fetch(got.data()));
      EXPECT_THAT(await_trouble(*receiver, 10'000).message(), HasSubstr("rank 0 closed channel 3"));
      peer.meet();
    }
  });
}

TEST_P(Rendezvous, EndsWithARecall) { ends_early(GetParam(), true); }
TEST_P(Rendezvous, EndsWithTheSender) { ends_early(GetParam(), false); }

}  // namespace
}  // namespace weir::testing
