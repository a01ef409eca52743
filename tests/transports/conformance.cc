// SPDX-License-Identifier: Apache-2.0

#include "tests/transports/conformance.h"

#include <algorithm>
#include <set>

#include "tests/base/sanitized.h"
#include "tests/device/process_state.h"
#include "tests/transports/link.h"
#include "transports/faulty.h"
#include "transports/memory/segment_mapper.h"
#include "transports/memory/shm.h"

namespace weir::testing {
namespace {

constexpr int kTimeoutMs = 10000;
constexpr int kSilenceMs = 100;

template <typename End>
std::vector<End*> all_of(const std::vector<std::unique_ptr<End>>& ends) {
  std::vector<End*> all;
  for (const auto& end : ends) all.push_back(end.get());
  return all;
}

}  // namespace

Node shm_node(Rank rank) {
  Node node;
  node.segment = test_segment(rank);
  node.transport = make_shm(test_identity(rank), node.segment.get(), false);
  return node;
}

std::unique_ptr<Segment> test_segment(Rank rank) {
  const Identity self = test_identity(rank);
  auto segment = Segment::create({self.uid, rank, 4096, size_t{64} << 20});
  EXPECT_TRUE(segment.ok()) << segment.status().message();
  return segment.ok() ? std::move(*segment) : nullptr;
}

Identity test_identity(Rank rank) { return {0xc0ffee, rank, 42}; }

std::vector<Setup> with_faults(std::vector<Setup> setups) {
  const size_t plain = setups.size();
  for (size_t i = 0; i < plain; ++i) {
    Setup faulty = setups[i];
    faulty.name += "_faulty";
    faulty.make = [make = setups[i].make](Rank rank) {
      Node node = make(rank);
      const Faults faults = {.seed = 7u + static_cast<uint64_t>(rank),
                             .ready_stall = 50,
                             .message_delay = 20,
                             .room_delay = 20,
                             .cut_after = 0};
      if (node.transport != nullptr) node.transport = make_faulty(std::move(node.transport), faults);
      return node;
    };
    if (!kSanitized)
      setups.push_back(std::move(faulty));
    else if (i % 2 != 0)
      setups[i] = std::move(faulty);
  }
  return setups;
}

TEST_P(Conformance, ReachesThePeerFromBothSides) {
  run_pair(GetParam().kind, [&](Peer& peer) {
    Link link(GetParam(), peer);
    const Reach reach = link.transport().reach(link.peer_address());
    EXPECT_TRUE(reach.ok) << reach.why_not;
    EXPECT_GT(reach.cost.gigabytes_per_s, 0);
    SegmentMapper* const mapper = link.transport().segment_mapper();
    EXPECT_EQ(mapper != nullptr, link.transport().traits().maps);
    if (mapper != nullptr) {
      EXPECT_TRUE(mapper->map(link.peer_address()).ok());
    }
    peer.meet();
  });
}

TEST_P(Conformance, RefusesDamagedAddressesWithASentence) {
  run_pair(GetParam().kind, [&](Peer& peer) {
    Link link(GetParam(), peer);
    Bytes address = link.peer_address();
    while (!address.empty()) {
      address.pop_back();
      const Reach reach = link.transport().reach(address);
      EXPECT_FALSE(reach.ok) << address.size() << " bytes of " << link.peer_address().size();
      EXPECT_GT(reach.why_not.size(), 10u);
      EXPECT_FALSE(link.transport().open_sender(address, spec_for(peer, 0)).ok());
      EXPECT_FALSE(link.transport().open_receiver(address, spec_for(peer, 0)).ok());
    }
    peer.meet();
  });
}

TEST_P(Conformance, KeepsOrderTagsAndBytes) {
  run_pair(GetParam().kind, [&](Peer& peer) {
    Link link(GetParam(), peer);
    constexpr uint64_t kMessages = 300;
    if (peer.rank() == 0) {
      const auto sender = link.sender(spec_for(peer, 7));
      await_ready(*sender);
      for (uint64_t i = 0; i < kMessages; ++i) send(*sender, 7, i, static_cast<uint32_t>(i * 37 % 4097));
      flush(*sender);
      peer.meet();
    } else {
      const auto receiver = link.receiver(spec_for(peer, 7));
      await_ready(*receiver);
      for (uint64_t i = 0; i < kMessages; ++i) receive(*receiver, 7, i, static_cast<uint32_t>(i * 37 % 4097));
      EXPECT_EQ(receiver->peek(), nullptr);
      peer.meet();
    }
  });
}

TEST_P(Conformance, CountsWhatItCarriesOverANetwork) {
  run_pair(GetParam().kind, [&](Peer& peer) {
    Link link(GetParam(), peer);
    const bool network =
        std::set<std::string_view>{"net_plugin", "verbs", "ucx", "tcp"}.contains(link.transport().name());
    constexpr uint64_t kMessages = 9, kBytes = 1234;
    const auto expect = [&](uint64_t sent, uint64_t received) {
      const NetCounters counted = link.transport().counters();
      EXPECT_EQ(counted.sent_messages, network ? sent : 0);
      EXPECT_EQ(counted.sent_bytes, network ? sent * kBytes : 0);
      EXPECT_EQ(counted.received_messages, network ? received : 0);
      EXPECT_EQ(counted.received_bytes, network ? received * kBytes : 0);
    };
    expect(0, 0);
    if (peer.rank() == 0) {
      auto sender = link.sender(spec_for(peer, 7));
      await_ready(*sender);
      for (uint64_t i = 0; i < kMessages; ++i) send(*sender, 7, i, kBytes);
      flush(*sender);
      expect(kMessages, 0);
      peer.meet();
      sender.reset();
      expect(kMessages, 0);
    } else {
      const auto receiver = link.receiver(spec_for(peer, 7));
      await_ready(*receiver);
      for (uint64_t i = 0; i < kMessages; ++i) {
        receive(*receiver, 7, i, kBytes);
        expect(0, i + 1);
      }
      peer.meet();
    }
  });
}

TEST_P(Conformance, CarriesEverySize) {
  constexpr uint32_t kSlotBytes = 700;
  run_pair(GetParam().kind, [&](Peer& peer) {
    Link link(GetParam(), peer);
    const LinkSpec spec = spec_for(peer, 0, 3, kSlotBytes);
    if (peer.rank() == 0) {
      const auto sender = link.sender(spec);
      await_ready(*sender);
      for (uint32_t bytes = 0; bytes <= kSlotBytes; ++bytes) send(*sender, 0, bytes, bytes);
      flush(*sender);
      peer.meet();
    } else {
      const auto receiver = link.receiver(spec);
      await_ready(*receiver);
      for (uint32_t bytes = 0; bytes <= kSlotBytes; ++bytes) receive(*receiver, 0, bytes, bytes);
      peer.meet();
    }
  });
}

TEST_P(Conformance, HoldsAtLeastItsSlotsAndNotWithoutEnd) {
  constexpr uint32_t kSlots = 3, kSlotBytes = 65536, kTooMany = 4096;
  run_pair(GetParam().kind, [&](Peer& peer) {
    Link link(GetParam(), peer);
    const LinkSpec spec = spec_for(peer, 1, kSlots, kSlotBytes);
    if (peer.rank() == 0) {
      const auto sender = link.sender(spec);
      await_ready(*sender);
      uint64_t sent = 0;
      for (; sent < kSlots; ++sent) send(*sender, 1, sent, kSlotBytes);
      for (int idle = 0; idle < 1000 && sent < kTooMany;) {
        if (std::byte* slot = sender->acquire(); slot != nullptr) {
          send(*sender, 1, sent++, kSlotBytes);
          idle = 0;
        } else {
          serve(*sender);
          ++idle;
        }
      }
      EXPECT_LT(sent, kTooMany);
      peer.swap(ByteWriter().put(sent).take());
      for (int i = 0; i < 5; ++i) send(*sender, 1, sent++, 100);
      flush(*sender);
      peer.meet();
    } else {
      const auto receiver = link.receiver(spec);
      await_ready(*receiver);
      const Bytes told = peer.swap({});
      const auto sent = ByteReader(told).get<uint64_t>();
      for (uint64_t i = 0; i < sent; ++i) receive(*receiver, 1, i, kSlotBytes);
      for (uint64_t i = sent; i < sent + 5; ++i) receive(*receiver, 1, i, 100);
      peer.meet();
    }
  });
}

TEST_P(Conformance, RepeatsAcquireAndPeek) {
  run_pair(GetParam().kind, [&](Peer& peer) {
    Link link(GetParam(), peer);
    if (peer.rank() == 0) {
      const auto sender = link.sender(spec_for(peer, 0));
      await_ready(*sender);
      std::byte* slot = nullptr;
      eventually("a free slot", [&] { return (slot = sender->acquire()) != nullptr; });
      EXPECT_EQ(reinterpret_cast<uintptr_t>(slot) % 16, 0u);
      EXPECT_EQ(sender->acquire(), slot);
      send(*sender, 0, 0, 64);
      send(*sender, 0, 1, 4096);
      flush(*sender);
      peer.meet();
    } else {
      const auto receiver = link.receiver(spec_for(peer, 0));
      await_ready(*receiver);
      const Message* first = nullptr;
      eventually("the first message",
                 [&] { return serve(*receiver) && (first = receiver->peek()) != nullptr; });
      const Message before = *first;
      for (int look = 0; look < 50; ++look) {
        serve(*receiver);
        eventually("the message again", [&] { return (first = receiver->peek()) != nullptr; });
        EXPECT_EQ(first->data, before.data);
        EXPECT_TRUE(holds(first->data, 64, 0, 0));
      }
      receive(*receiver, 0, 0, 64);
      receive(*receiver, 0, 1, 4096);
      peer.meet();
    }
  });
}

TEST_P(Conformance, OpensManyChannelsInAnyOrder) {
  constexpr uint32_t kChannels = 40;
  run_pair(GetParam().kind, [&](Peer& peer) {
    Link link(GetParam(), peer);
    std::vector<std::unique_ptr<Sender>> senders(kChannels);
    std::vector<std::unique_ptr<Receiver>> receivers(kChannels);
    // Rank 0 opens upwards and senders first, rank 1 the other way round.
    for (uint32_t turn = 0; turn < 2 * kChannels; ++turn) {
      const uint32_t step = peer.rank() == 0 ? turn : 2 * kChannels - 1 - turn;
      const uint32_t i = step % kChannels;
      const LinkSpec spec = spec_for(peer, i * 1000, 1 + i % 3, 512);
      if (step < kChannels) {
        senders[i] = link.sender(spec);
      } else {
        receivers[i] = link.receiver(spec);
      }
    }
    await_ready(all_of(senders), all_of(receivers));
    // Every end is served while any is waited for, as by a communicator: a message may need credit that comes
    // only when the peer serves the other end.
    constexpr uint64_t kRounds = 3;
    std::vector<uint64_t> sent(kChannels), taken(kChannels);
    eventually("all messages", [&] {
      bool all = true;
      for (uint32_t i = 0; i < kChannels; ++i) {
        if (sent[i] < kRounds && senders[i]->acquire() != nullptr) {
          send(*senders[i], peer.rank() * 100u + i, sent[i]++, i * 10);
        }
        all &= serve(*senders[i]) && sent[i] == kRounds && senders[i]->flushed();
      }
      for (uint32_t i = kChannels; i-- > 0;) {
        if (serve(*receivers[i]) && taken[i] < kRounds && receivers[i]->peek() != nullptr) {
          receive(*receivers[i], peer.other() * 100u + i, taken[i]++, i * 10);
        }
        all &= taken[i] == kRounds;
      }
      return all;
    });
    peer.meet();
  });
}

TEST_P(Conformance, GoesBothWaysAtOnce) {
  constexpr uint64_t kMessages = 400;
  run_pair(GetParam().kind, [&](Peer& peer) {
    Link link(GetParam(), peer);
    const auto sender = link.sender(spec_for(peer, 3, 2, 8192));
    const auto receiver = link.receiver(spec_for(peer, 3, 2, 8192));
    await_ready(*sender, *receiver);
    const auto size = [](uint64_t i) { return static_cast<uint32_t>(i * 101 % 8193); };
    uint64_t sent = 0;
    uint64_t received = 0;
    eventually("all messages", [&] {
      if (sent < kMessages && sender->acquire() != nullptr) {
        send(*sender, peer.rank(), sent, size(sent));
        ++sent;
      }
      if (serve(*sender) && serve(*receiver) && receiver->peek() != nullptr) {
        receive(*receiver, peer.other(), received, size(received));
        ++received;
      }
      return received == kMessages;
    });
    for (; sent < kMessages; ++sent) send(*sender, peer.rank(), sent, size(sent));
    flush(*sender);
    peer.meet();
  });
}

/// More than what is under way between the two finds room in.
TEST_P(Conformance, SendsFromTheCallersMemory) {
  constexpr uint64_t kMessages = 40;
  run_pair(GetParam().kind, [&](Peer& peer) {
    Link link(GetParam(), peer);
    const LinkSpec spec = spec_for(peer, 6, 3, 400'000);
    const auto size = [](uint64_t i) { return static_cast<uint32_t>(i * 99'991 % 400'001); };
    if (peer.rank() == 0) {
      const auto sender = link.sender(spec);
      await_ready(*sender);
      for (uint64_t i = 0; i < kMessages; ++i) {
        if (i == 3) peer.meet();
        if (i % 4 == 3) {
          send(*sender, 0, i, size(i));
        } else {
          send_from_memory(*sender, 0, i, size(i));
        }
      }
      flush(*sender);
      peer.meet();
    } else {
      const auto receiver = link.receiver(spec);
      await_ready(*receiver);
      peer.meet();
      for (uint64_t i = 0; i < kMessages; ++i) receive(*receiver, 0, i, size(i));
      peer.meet();
    }
  });
}

/// A transport may hold more messages than there are slots.
TEST_P(Conformance, WhatWasFlushedComesAfterTheSenderClosed) {
  constexpr uint64_t kMessages = 60;
  run_pair(GetParam().kind, [&](Peer& peer) {
    Link link(GetParam(), peer);
    const LinkSpec spec = spec_for(peer, 6, 3, 20'000);
    const auto size = [](uint64_t i) { return static_cast<uint32_t>(i * 5'987 % 20'001); };
    if (peer.rank() == 0) {
      const auto sender = link.sender(spec);
      await_ready(*sender);
      for (uint64_t i = 0; i < kMessages; ++i) send(*sender, 0, i, size(i));
      flush(*sender);
    } else {
      const auto receiver = link.receiver(spec);
      await_ready(*receiver);
      for (uint64_t i = 0; i < kMessages; ++i) receive(*receiver, 0, i, size(i));
    }
    peer.meet();
  });
}

TEST_P(Conformance, AnswersPingWithPong) {
  constexpr uint64_t kTimes = enough(500);
  run_pair(GetParam().kind, [&](Peer& peer) {
    Link link(GetParam(), peer);
    const auto sender = link.sender(spec_for(peer, 0, 1, 64));
    const auto receiver = link.receiver(spec_for(peer, 0, 1, 64));
    await_ready(*sender, *receiver);
    for (uint64_t i = 0; i < kTimes; ++i) {
      if (peer.rank() == 0) send(*sender, 0, i, 8);
      receive(*receiver, peer.other(), i, 8);
      if (peer.rank() == 1) send(*sender, 1, i, 8);
    }
    flush(*sender);
    peer.meet();
  });
}

TEST_P(Conformance, OpensAgainAfterClosing) {
  run_pair(GetParam().kind, [&](Peer& peer) {
    Link link(GetParam(), peer);
    for (uint64_t life = 0; life < 24; ++life) {
      // Shapes and the order of closing and opening vary; nobody waits for the other between two lives.
      const LinkSpec spec = spec_for(peer, 5, 1 + life % 3, life % 2 == 0 ? 256 : 9000);
      const bool sender_first = (life / 2 + peer.rank()) % 2 == 0;
      std::unique_ptr<Sender> sender;
      std::unique_ptr<Receiver> receiver;
      if (sender_first) sender = link.sender(spec);
      receiver = link.receiver(spec);
      if (!sender_first) sender = link.sender(spec);
      await_ready(*sender, *receiver);
      send(*sender, life, 0, 200);
      receive(*receiver, life, 0, 200);
      flush(*sender);
      if (life % 4 < 2) peer.meet();
      if (sender_first) sender.reset();
      receiver.reset();
    }
    peer.meet();
  });
}

TEST_P(Conformance, TellsAWaitingReceiverThatTheSenderClosed) {
  run_pair(GetParam().kind, [&](Peer& peer) {
    Link link(GetParam(), peer);
    if (peer.rank() == 0) {
      auto sender = link.sender(spec_for(peer, 2));
      await_ready(*sender);
      for (uint64_t i = 0; i < 3; ++i) send(*sender, 2, i, 1000);
      flush(*sender);
      peer.meet();
      sender.reset();
      peer.meet();
    } else {
      const auto receiver = link.receiver(spec_for(peer, 2));
      await_ready(*receiver);
      for (uint64_t i = 0; i < 2; ++i) receive(*receiver, 2, i, 1000);
      eventually("the last message", [&] { return serve(*receiver) && receiver->peek() != nullptr; });
      peer.meet();
      receive(*receiver, 2, 2, 1000);
      const Status trouble = await_trouble(*receiver, kTimeoutMs);
      EXPECT_EQ(trouble.code(), Code::remote_error);
      EXPECT_GT(trouble.message().size(), 20u);
      peer.meet();
    }
  });
}

TEST_P(Conformance, LeavesAReceiverInPeaceThatWantsNothing) {
  run_pair(GetParam().kind, [&](Peer& peer) {
    Link link(GetParam(), peer);
    if (peer.rank() == 0) {
      auto sender = link.sender(spec_for(peer, 2));
      await_ready(*sender);
      send(*sender, 2, 0, 1000);
      flush(*sender);
      peer.meet();
      sender.reset();
    } else {
      const auto receiver = link.receiver(spec_for(peer, 2));
      await_ready(*receiver);
      receive(*receiver, 2, 0, 1000);
      peer.meet();
      for (int look = 0; look < 1000; ++look) serve(*receiver);
    }
    peer.meet();
  });
}

TEST_P(Conformance, TellsAWaitingSenderThatTheReceiverClosed) {
  run_pair(GetParam().kind, [&](Peer& peer) {
    Link link(GetParam(), peer);
    if (peer.rank() == 0) {
      const auto sender = link.sender(spec_for(peer, 2));
      await_ready(*sender);
      send(*sender, 2, 0, 100);
      flush(*sender);
      peer.meet();
      Status trouble;
      for (int turn = 0; turn < 100000 && trouble.ok(); ++turn) {
        if (std::byte* slot = sender->acquire(); slot != nullptr) sender->publish(1, 4096);
        trouble = sender->progress();
      }
      if (trouble.ok()) trouble = await_trouble(*sender, kTimeoutMs);
      EXPECT_EQ(trouble.code(), Code::remote_error);
      EXPECT_GT(trouble.message().size(), 20u);
      peer.meet();
    } else {
      auto receiver = link.receiver(spec_for(peer, 2));
      await_ready(*receiver);
      receive(*receiver, 2, 0, 100);
      receiver.reset();
      peer.meet();
      peer.meet();
    }
  });
}

/// Both ranks let their ends of a channel go on until one of them is refused: which one notices is the
/// transport's choice. What this rank's end says.
template <typename End>
Status expect_that_one_is_refused(End& end, Peer& peer) {
  Status mine;
  Code theirs = Code::success;
  for (int waited = 0; mine.ok() && theirs == Code::success && waited < kTimeoutMs; waited += kSilenceMs) {
    mine = await_refusal(end, kSilenceMs);
    theirs = ByteReader(peer.swap(ByteWriter().put(mine.code()).take())).get<Code>();
  }
  EXPECT_TRUE(mine.code() == Code::invalid_usage || theirs == Code::invalid_usage) << mine.message();
  peer.meet();
  return mine;
}

TEST_P(Conformance, RefusesEndsOfDifferentShape) {
  run_pair(GetParam().kind, [&](Peer& peer) {
    Link link(GetParam(), peer);
    if (peer.rank() == 0) {
      peer.meet();
      const auto sender = link.sender(spec_for(peer, 0, 4, 1024));
      const Status refused = expect_that_one_is_refused(*sender, peer);
      EXPECT_TRUE(refused.ok() || refused.code() == Code::invalid_usage) << refused.message();
    } else {
      const auto receiver = link.receiver(spec_for(peer, 0, 4, 512));
      peer.meet();
      (void)expect_that_one_is_refused(*receiver, peer);  // it may find the connection closed by then
    }
  });
}

TEST_P(Conformance, SurvivesAKilledPeer) {
  if (GetParam().kind == PeerKind::threads) return;  // a thread cannot be killed alone
  run_pair(
      GetParam().kind,
      [&](Peer& peer) {
        Link link(GetParam(), peer);
        const auto sender = link.sender(spec_for(peer, 2));
        const auto receiver = link.receiver(spec_for(peer, 2));
        await_ready(*sender, *receiver);
        send(*sender, 2, 0, 4096);
        receive(*receiver, 2, 0, 4096);
        flush(*sender);
        peer.meet();
        if (peer.rank() == 1) Peer::die();
        const bool notices = GetParam().notices_kill;
        const Status trouble = await_trouble(*receiver, notices ? kTimeoutMs : kSilenceMs);
        EXPECT_EQ(trouble.code(), notices ? Code::remote_error : Code::success) << trouble.message();
      },
      Fate::is_killed);
}

TEST_P(Conformance, CarriesThousandsOfMessages) {
  constexpr uint64_t kMessages = enough(10'000);
  run_pair(GetParam().kind, [&](Peer& peer) {
    Link link(GetParam(), peer);
    const LinkSpec spec = spec_for(peer, 11, 4, 2048);
    const auto size = [](uint64_t i) { return static_cast<uint32_t>((i * i + 13 * i) % 2049); };
    if (peer.rank() == 0) {
      const auto sender = link.sender(spec);
      await_ready(*sender);
      for (uint64_t i = 0; i < kMessages; ++i) send(*sender, 11, i, size(i));
      flush(*sender);
      peer.meet();
    } else {
      const auto receiver = link.receiver(spec);
      await_ready(*receiver);
      for (uint64_t i = 0; i < kMessages; ++i) receive(*receiver, 11, i, size(i));
      peer.meet();
    }
  });
}

TEST_P(Conformance, LeavesNothingBehind) {
  run_pair(GetParam().kind, [&](Peer& peer) {
    size_t descriptors = 0;
    size_t mappings = 0;
    for (int life = 0; life < 10; ++life) {
      {
        Link link(GetParam(), peer);
        const auto sender = link.sender(spec_for(peer, 1));
        const auto receiver = link.receiver(spec_for(peer, 1));
        const auto unused = link.receiver(spec_for(peer, 2));
        await_ready(*sender, *receiver);
        send(*sender, 1, 0, 400);
        receive(*receiver, 1, 0, 400);
        flush(*sender);
        peer.meet();
      }
      peer.meet();
      // Counting opens a descriptor itself, so of two threads only one may count.
      if (GetParam().kind == PeerKind::processes || peer.rank() == 0) {
        if (life == 0) {
          descriptors = open_descriptors();
          mappings = shared_mappings();
        }
        EXPECT_EQ(open_descriptors(), descriptors);
        EXPECT_EQ(shared_mappings(), mappings);
      }
      peer.meet();
    }
  });
}

}  // namespace weir::testing
