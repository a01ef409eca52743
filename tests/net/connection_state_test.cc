// SPDX-License-Identifier: Apache-2.0

#include "src/net/connection_state.h"

#include <gmock/gmock.h>

#include <array>

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

/// A connection over loopback. Its other end is in the listener's queue: nobody reads.
class Connection : public ::testing::Test {
 protected:
  void SetUp() override {
    auto listener = Socket::listen(SocketAddress::loopback(AF_INET, 0));
    ASSERT_TRUE(listener.ok());
    listener_ = std::move(*listener);
    auto socket = Socket::connect(*listener_.local_address(), Deadline::in_ms(20'000));
    ASSERT_TRUE(socket.ok());
    socket_ = std::move(*socket);
  }

  /// Sends until neither kernel takes more.
  void fill() {
    const std::array<std::byte, 65536> bytes{};
    while (send(socket_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0) {
    }
  }

  Socket listener_, socket_;
};

TEST_F(Connection, HasNothingUnacknowledgedWhereNothingWasSent) {
  const auto state = connection_state(socket_.fd());
  ASSERT_TRUE(state);
  EXPECT_EQ(state->to, *listener_.local_address());
  EXPECT_EQ(state->unacknowledged_bytes, 0u);
  EXPECT_GT(state->segment_bytes, 0u);
  EXPECT_GT(state->path_mtu, state->segment_bytes);
  EXPECT_FALSE(state->lost());
}

TEST_F(Connection, OfAReceiverThatDoesNotReadIsUnacknowledgedButNotLost) {
  ConnectionSet set;
  set.watch(socket_);
  EXPECT_THAT(set.unacknowledged(), IsEmpty());
  fill();
  const auto states = set.unacknowledged();
  ASSERT_EQ(states.size(), 1u);
  EXPECT_GT(states[0].unacknowledged_bytes, 0u);
  EXPECT_FALSE(states[0].lost());
  EXPECT_THAT(states[0].describe(),
              AllOf(StartsWith("on the connection from 127.0.0.1:"), Not(HasSubstr("vanish"))));
  set.forget(socket_);
  EXPECT_THAT(set.unacknowledged(), IsEmpty());
}

TEST_F(Connection, IsCountedUntilItIsForgotten) {
  ConnectionSet set;
  set.watch(socket_);
  EXPECT_EQ(set.retransmitted(), 0u);
  set.forget(socket_);
  set.forget(socket_);
  set.forget(Socket());
  EXPECT_EQ(set.retransmitted(), 0u);
}

TEST(ConnectionState, OfWhatIsNoConnectionIsNotKnown) { EXPECT_FALSE(connection_state(-1)); }

ConnectionState lost_one() {
  ConnectionState state;
  state.from = *SocketAddress::parse("10.0.0.1:5");
  state.to = *SocketAddress::parse("10.0.0.2:6");
  state.unacknowledged_bytes = 65'536;
  state.attempts = 7;
  state.retransmitted = 9;
  state.quiet_ms = 29'800;
  state.round_trip_us = 250;
  state.segment_bytes = 8948;
  state.path_mtu = 9000;
  return state;
}

TEST(ConnectionState, TellsTheNumbersOfTheKernel) {
  EXPECT_EQ(
      lost_one().describe(),
      "packets of 9000 bytes vanish between 10.0.0.1 and 10.0.0.2: on the connection from 10.0.0.1:5 to "
      "10.0.0.2:6, 65536 bytes are not acknowledged, the last acknowledgement came 29.8 s ago, and the "
      "kernel has since tried 7 times (9 segments retransmitted in all, round-trip time 0.25 ms, segments "
      "of up to 8948 bytes, path MTU 9000)");
}

TEST(ConnectionState, AccusesOnlyWithEvidence) {
  ConnectionState state = lost_one();
  state.unacknowledged_bytes = 100;
  EXPECT_THAT(state.describe(), StartsWith("packets vanish between")) << "no packet is full";
  state.attempts = 1;
  EXPECT_THAT(state.describe(), Not(HasSubstr("vanish"))) << "a packet may be lost once";
  EXPECT_FALSE(state.lost());
  state = lost_one();
  state.unacknowledged_bytes = 0;
  EXPECT_FALSE(state.lost());
}

}  // namespace
}  // namespace weir
