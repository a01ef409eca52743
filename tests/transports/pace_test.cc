// SPDX-License-Identifier: Apache-2.0
/// Senders that are given a pace: what they may never do is be faster, so these tests hold on slow machines.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "src/base/clock.h"
#include "tests/transports/conformance.h"
#include "tests/transports/link.h"
#include "tests/transports/tcp_node.h"
#include "transports/memory/loop.h"
#include "transports/paced.h"

namespace weir::testing {
namespace {

constexpr uint32_t kSlotBytes = 4096;

Node paced_loop(Rank rank) {
  static LocalSegments segments;
  Node node;
  node.segment = test_segment(rank);
  node.transport = make_paced(make_loop(test_identity(rank), node.segment.get(), &segments));
  return node;
}

/// Seconds until all messages are there, at this pace.
double seconds_of(const Setup& setup, uint64_t messages, double bytes_per_s) {
  double seconds = 0;
  run_pair(setup.kind, [&](Peer& peer) {
    Link link(setup, peer);
    const LinkSpec spec = spec_for(peer, 0, 4, kSlotBytes);
    if (peer.rank() == 0) {
      const auto sender = link.sender(spec);
      await_ready(*sender);
      EXPECT_TRUE(sender->pace(bytes_per_s));
      peer.meet();
      for (uint64_t i = 0; i < messages; ++i) send(*sender, 0, i, kSlotBytes);
      flush(*sender);
      peer.meet();
    } else {
      const auto receiver = link.receiver(spec);
      await_ready(*receiver);
      peer.meet();
      const int64_t began = now_ns();
      for (uint64_t i = 0; i < messages; ++i) receive(*receiver, 0, i, kSlotBytes);
      seconds = static_cast<double>(now_ns() - began) * 1e-9;
      peer.meet();
    }
  });
  return seconds;
}

TEST(Pace, OfABucketIsNeverExceeded) {
  const weir::testing::Setup setup{"loop", PeerKind::threads, paced_loop};
  constexpr uint64_t kMessages = 200;
  constexpr double kRate = 8e6;
  // Two slots may go ahead, and the receiver begins to look a little after the sender began.
  EXPECT_GT(seconds_of(setup, kMessages, kRate), 0.9 * (kMessages - 2) * kSlotBytes / kRate);
  EXPECT_GT(seconds_of(setup, kMessages, 0), 0) << "no pace";
}

TEST(Pace, OfTcpIsTheKernels) {
  const weir::testing::Setup setup{"tcp", PeerKind::threads,
                                   [](Rank rank) { return tcp_node(AF_INET, 2, rank); }};
  constexpr uint64_t kMessages = 1000;
  constexpr double kRate = 20e6;
  // The kernel lets some packets of 64 KiB per connection go at once.
  EXPECT_GT(seconds_of(setup, kMessages, kRate), 0.7 * kMessages * kSlotBytes / kRate);
}

}  // namespace
}  // namespace weir::testing
