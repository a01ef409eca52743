// SPDX-License-Identifier: Apache-2.0
// Connections under the key of a channel that are not of its sender.

#include <gmock/gmock.h>

#include "tests/transports/link.h"
#include "tests/transports/tcp_node.h"
#include "transports/tcp/channel.h"
#include "transports/tcp/wire.h"

namespace weir::testing {
namespace {

constexpr uint64_t kUid = 7;
constexpr uint32_t kMessageBytes = 1000;

/// The ends of a channel from rank 0 to rank 1, which are opened when a test wants.
class TcpStrangers : public ::testing::Test {
 protected:
  static TcpPeer peer_at(const Node& node) {
    const SocketAddress listener = node.listener->address();
    return {listener, {{listener, {}, listener.text()}}};
  }
  void open_sender() {
    sender_ = std::move(*open_tcp_sender(peer_at(to_), kUid, 1, {1'000'000'000, 1'000'000'000},
                                         {.self = 0, .peer = 1, .slots = 4, .slot_bytes = kMessageBytes},
                                         nullptr, shared_));
  }
  void open_receiver() {
    receiver_ = std::move(*open_tcp_receiver(*to_.listener, peer_at(from_), nullptr, kUid,
                                             {.self = 1, .peer = 0, .slots = 4, .slot_bytes = kMessageBytes},
                                             shared_));
  }
  void carry(uint64_t first, uint64_t last) {
    for (uint64_t i = first; i < last; ++i) {
      send(*sender_, 1, i, kMessageBytes);
      receive(*receiver_, 1, i, kMessageBytes);
    }
  }
  /// A connection under the key of the channel, from a process with `secret`.
  Result<PeerSocket> intrude(const Secret& secret) const {
    return deliver(to_.listener->address(), kKey, secret, Deadline::in_ms(10'000));
  }

  const DeliveryKey kKey = tcp::delivery_key(kUid, 0, 1, 0, 0);
  const Secret kWrong = Secret::from_text("of another job");
  Node from_ = tcp_node(AF_INET, 1, 0);
  Node to_ = tcp_node(AF_INET, 1, 1);
  tcp::Shared shared_;
  std::unique_ptr<Sender> sender_;
  std::unique_ptr<Receiver> receiver_;
};

TEST_F(TcpStrangers, ASecondConnectionDoesNotDisturbAChannel) {
  open_sender();
  open_receiver();
  await_ready(*sender_, *receiver_);
  carry(0, 5);
  EXPECT_FALSE(intrude(kWrong).ok());
  carry(5, 10);
  EXPECT_FALSE(to_.listener->collect(kKey).has_value()) << "nothing is kept of a stranger";
  auto second = intrude({});
  ASSERT_TRUE(second.ok()) << "a member of the job";
  ASSERT_TRUE(send_all(*second, Bytes(4096, std::byte{1}), Deadline::in_ms(10'000)).ok());
  carry(10, 15);
  second->close();
  carry(15, 20);
  EXPECT_TRUE(to_.listener->collect(kKey).has_value()) << "the channel has left it where it was";
}

TEST_F(TcpStrangers, AConnectionThatComesBeforeItsReceiverIsKept) {
  open_sender();
  eventually("the connection", [&] { return serve(*sender_) && sender_->ready().value(); });
  open_receiver();
  await_ready(*sender_, *receiver_);
  carry(0, 5);
}

TEST_F(TcpStrangers, AConnectionOfAStrangerIsNotKept) {
  EXPECT_FALSE(intrude(kWrong).ok());
  EXPECT_FALSE(to_.listener->collect(kKey).has_value());
  open_receiver();
  EXPECT_FALSE(intrude(kWrong).ok());
  EXPECT_FALSE(receiver_->ready().value());
  open_sender();
  await_ready(*sender_, *receiver_);
  carry(0, 5);
}

}  // namespace
}  // namespace weir::testing
