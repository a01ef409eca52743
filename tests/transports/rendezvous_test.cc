// SPDX-License-Identifier: Apache-2.0
// Messages that stay in the sender's memory until the receiver reads them there: through the kernel, or in
// memory that both map.
#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/transports/conformance.h"
#include "tests/transports/link.h"
#include "transports/memory/attached_blocks.h"
#include "transports/memory/shm.h"

namespace weir::testing {
namespace {

using ::testing::HasSubstr;

device::MemoryRegistry& registry() {
  static device::MemoryRegistry of_the_process;
  return of_the_process;
}

/// As shm_node, with memory that peers may map.
Node registry_node(Rank rank) {
  Node node;
  node.segment = test_segment(rank);
  node.transport = make_shm(test_identity(rank), node.segment.get(), false, &registry());
  return node;
}

struct Variant {
  Setup setup;
  SendMode large;  ///< of messages from 2 KiB on
};

class Rendezvous : public ::testing::TestWithParam<Variant> {
 protected:
  const auto& setup() const { return GetParam().setup; }
  bool shares() const { return GetParam().large == SendMode::shared_read; }
};

INSTANTIATE_TEST_SUITE_P(
    Shm, Rendezvous,
    ::testing::Values(Variant{{"processes", PeerKind::processes, shm_node}, SendMode::kernel_read},
                      Variant{{"threads", PeerKind::threads, shm_node}, SendMode::kernel_read},
                      Variant{{"processes_registry", PeerKind::processes, registry_node},
                              SendMode::shared_read},
                      Variant{{"threads_registry", PeerKind::threads, registry_node}, SendMode::shared_read}),
    [](const auto& of) { return of.param.setup.name; });

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

/// The same in memory of the registry, or not.
std::shared_ptr<std::byte[]> source_of(bool shares, uint64_t message, uint32_t bytes) {
  std::shared_ptr<std::byte[]> data;
  if (shares) {
    const Result<void*> memory = registry().allocate(std::max(bytes, 1u));
    if (!memory.ok()) throw CannotGoOn(memory.status().message());
    data = {static_cast<std::byte*>(*memory), [](std::byte* base) { (void)registry().free(base); }};
  } else {
    data = std::make_shared<std::byte[]>(bytes);
  }
  fill(data.get(), bytes, 1, message);
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
  run_pair(setup().kind, [&](Peer& peer) {
    Link link(setup(), peer);
    if (peer.rank() == 0) {
      const auto sender = link.sender(rendezvous_spec(peer));
      await_ready(*sender);
      std::vector<std::shared_ptr<std::byte[]>> kept;
      for (int round = 0; round < 4; ++round) {
        for (const uint32_t size : kSizes) {
          kept.push_back(source_of(shares(), kept.size(), size));
          const std::byte* const data = kept.back().get();
          EXPECT_EQ(sender->send_mode({data, true}, size), size >= 2048   ? GetParam().large
                                                           : size >= 1000 ? SendMode::kernel_read
                                                                          : SendMode::copied);
          EXPECT_EQ(sender->send_mode({data, false}, size), SendMode::copied);
          eventually("room", [&] { return sender->acquire() != nullptr; });
          sender->publish(kept.size(), size, {data, true});
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

constexpr uint32_t kBytes = 2500;

/// A sender that has published `data`, kBytes, to rank 1.
std::unique_ptr<Sender> sender_of(Link& link, const Peer& peer, const std::byte* data) {
  auto sender = link.sender(rendezvous_spec(peer));
  await_ready(*sender);
  EXPECT_NE(sender->acquire(), nullptr);
  sender->publish(7, kBytes, {data, true});
  return sender;
}

TEST_P(Rendezvous, IsFlushedWhenTheReceiverHasReadIt) {
  run_pair(setup().kind, [&](Peer& peer) {
    Link link(setup(), peer);
    if (peer.rank() == 0) {
      const auto data = source_of(shares(), 0, kBytes);
      const auto sender = sender_of(link, peer, data.get());
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
void ends_early(const Variant& variant, bool recalls) {
  run_pair(variant.setup.kind, [&](Peer& peer) {
    Link link(variant.setup, peer);
    if (peer.rank() == 0) {
      const auto data = source_of(variant.large == SendMode::shared_read, 0, kBytes);
      auto sender = sender_of(link, peer, data.get());
      if (recalls) {
        sender->recall();
      } else {
        sender.reset();
      }
      std::fill_n(data.get(), kBytes, std::byte{0});
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

TEST(AttachedBlocks, GiveTheBytesOfTheBlockThatIsThereNow) {
  AttachedBlocks attached;
  for (uint64_t life = 1; life <= 3; ++life) {
    const auto data = source_of(true, life, 5000);
    const auto located = registry().find(data.get() + 100, 4900);
    ASSERT_TRUE(located.has_value());
    const auto handle = registry().handle(located->block);
    ASSERT_TRUE(handle.has_value());
    const RendezvousSource source = {0, located->block, located->offset, *handle};
    const std::byte* const seen = attached.find(1, source, 4900);
    ASSERT_NE(seen, nullptr);
    EXPECT_NE(seen, data.get() + 100);
    EXPECT_TRUE(std::equal(seen, seen + 4900, data.get() + 100));
  }
}

TEST(AttachedBlocks, GiveNothingOutsideABlockOrOfWhatCannotBeMapped) {
  AttachedBlocks attached;
  const auto data = source_of(true, 0, 5000);
  const device::BlockId block = registry().find(data.get(), 5000)->block;
  const device::ShareHandle handle = *registry().handle(block);
  EXPECT_NE(attached.find(1, {0, block, 0, handle}, handle.size), nullptr);
  EXPECT_EQ(attached.find(1, {0, block, 1, handle}, handle.size), nullptr);
  EXPECT_EQ(attached.find(1, {0, block, handle.size + 1, handle}, 0), nullptr);
  EXPECT_EQ(attached.find(1, {0, block, UINT64_MAX, handle}, 8), nullptr);
  EXPECT_EQ(attached.find(1, {0, {}, 0, handle}, 8), nullptr);
  device::ShareHandle other = handle;
  other.token ^= 1;
  EXPECT_EQ(attached.find(2, {0, block, 0, other}, 8), nullptr);
  EXPECT_NE(attached.find(1, {0, block, 0, handle}, 8), nullptr);
}

}  // namespace
}  // namespace weir::testing
