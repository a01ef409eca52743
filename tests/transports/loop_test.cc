// SPDX-License-Identifier: Apache-2.0

#include "transports/memory/loop.h"

#include <gmock/gmock.h>

#include "tests/transports/conformance.h"

namespace weir::testing {
namespace {

using ::testing::HasSubstr;

LocalSegments& segments() {
  static LocalSegments segments;
  return segments;
}

Node loop_node(Rank rank) {
  Node node;
  node.segment = test_segment(rank);
  node.transport = make_loop(test_identity(rank), node.segment.get(), &segments());
  return node;
}

INSTANTIATE_TEST_SUITE_P(Loop, Conformance,
                         ::testing::ValuesIn(with_faults({{"threads", PeerKind::threads, loop_node}})),
                         setup_name);

TEST(Loop, RefusesAnotherProcess) {
  run_pair(PeerKind::processes, [](Peer& peer) {
    const Node node = loop_node(peer.rank());
    const Bytes address = peer.swap(node.transport->address());
    const Reach reach = node.transport->reach(address);
    EXPECT_FALSE(reach.ok);
    EXPECT_THAT(reach.why_not, HasSubstr("another process"));
    peer.meet();
  });
}

TEST(Loop, OneRankReachesItself) {
  const Node node = loop_node(0);
  const Bytes address = node.transport->address();
  const LinkSpec spec = {.self = 0, .peer = 0};
  auto sender = node.transport->open_sender(address, spec);
  auto receiver = node.transport->open_receiver(address, spec);
  ASSERT_TRUE(sender.ok() && receiver.ok());
  ASSERT_TRUE((*sender)->ready().value());
  ASSERT_NE((*sender)->acquire(), nullptr);
  (*sender)->publish(9, 3);
  ASSERT_NE((*receiver)->peek(), nullptr);
  EXPECT_EQ((*receiver)->peek()->tag, 9u);
}

}  // namespace
}  // namespace weir::testing
