// SPDX-License-Identifier: Apache-2.0

#include "src/net/tls/peer_socket.h"

#include <algorithm>
#include <array>
#include <thread>

#include "tests/net/tls/tls_peers.h"

namespace weir {
namespace {

using testing::connect_sockets;
using testing::context_of;
using ::testing::HasSubstr;
using testing::part;
using testing::pattern;
using testing::SocketPair;

Deadline soon() { return Deadline::in_ms(60'000); }

struct PeerSockets {
  PeerSocket connecting, accepting;
};

/// The parameter: whether the connection is encrypted.
class PeerSocketKinds : public testing::TlsTest, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) TlsTest::SetUp();
  }
  PeerSockets connect() const {
    SocketPair sockets = connect_sockets();
    PeerSockets peers{PeerSocket(std::move(sockets.connecting)), PeerSocket(std::move(sockets.accepting))};
    if (GetParam()) secure(peers);
    return peers;
  }
  static void secure(PeerSockets& peers) {
    const auto context = context_of('a');
    EXPECT_TRUE(peers.connecting.secure(context, TlsRole::connects).ok());
    EXPECT_TRUE(peers.accepting.secure(context, TlsRole::accepts).ok());
    std::thread other([&] { EXPECT_TRUE(wait_ready(peers.connecting, soon()).ok()); });
    EXPECT_TRUE(wait_ready(peers.accepting, soon()).ok());
    other.join();
  }
};
INSTANTIATE_TEST_SUITE_P(, PeerSocketKinds, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Encrypted" : "Plain"; });

TEST_P(PeerSocketKinds, CarriesBytes) {
  PeerSockets peers = connect();
  EXPECT_EQ(peers.connecting.is_secured(), GetParam());
  const Bytes bytes = pattern(5'000'000);
  std::thread sender([&] { EXPECT_TRUE(send_all(peers.connecting, bytes, soon()).ok()); });
  Bytes got(bytes.size());
  const Status status = receive_all(peers.accepting, got, soon());
  sender.join();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(got == bytes);
  EXPECT_EQ(*peers.accepting.try_receive(got), 0u);
  EXPECT_EQ(peers.accepting.events(POLLIN), POLLIN);
}

TEST_P(PeerSocketKinds, FillsPartsInTheirOrder) {
  PeerSockets peers = connect();
  const Bytes bytes = pattern(70'000);
  const std::array out = {part(BytesView(bytes).first(40)), part(BytesView(bytes).subspan(40))};
  EXPECT_EQ(*peers.connecting.try_send(out), bytes.size());
  Bytes got(80'000);
  size_t arrived = 0;
  while (arrived < bytes.size()) {
    ASSERT_TRUE(peers.accepting.pending() || wait_for(peers.accepting.socket().fd(), POLLIN, soon()));
    const std::span<std::byte> rest = std::span(got).subspan(arrived);
    const std::array in = {part(rest.first(10)), part(rest.subspan(10))};
    const auto more = peers.accepting.try_receive(in);
    ASSERT_TRUE(more.ok()) << more.status().message();
    arrived += *more;
    ASSERT_TRUE(peers.connecting.flush().ok());
  }
  EXPECT_TRUE(std::ranges::equal(std::span(got).first(arrived), bytes));
}

TEST_P(PeerSocketKinds, NothingIsNoEnd) {
  PeerSockets peers = connect();
  EXPECT_EQ(*peers.connecting.try_send(BytesView()), 0u);
  EXPECT_EQ(*peers.accepting.try_receive(std::span<std::byte>()), 0u);
  EXPECT_TRUE(*peers.accepting.ready());
  EXPECT_TRUE(*peers.accepting.flush());
  EXPECT_FALSE(peers.accepting.unsent());
  EXPECT_FALSE(peers.accepting.pending());
}

TEST_P(PeerSocketKinds, AWaitEndsWithItsDeadline) {
  PeerSockets peers = connect();
  Bytes got(1);
  Status status = receive_all(peers.accepting, got, Deadline::in_ms(30));
  EXPECT_EQ(status.code(), Code::remote_error);
  EXPECT_THAT(status.message(), HasSubstr("no answer in time while waiting to receive from 127.0.0.1:"));
  status = send_all(peers.connecting, Bytes(64 << 20), Deadline::in_ms(30));
  EXPECT_EQ(status.code(), Code::remote_error);
  EXPECT_THAT(status.message(), HasSubstr("no answer in time while waiting to send to 127.0.0.1:"));
}

TEST_P(PeerSocketKinds, AWaitEndsWithTheAbortFlag) {
  PeerSockets peers = connect();
  const std::atomic<bool> abort{true};
  Bytes got(1);
  const Status status = receive_all(peers.accepting, got, Deadline::never(&abort));
  EXPECT_EQ(status.code(), Code::invalid_usage);
  EXPECT_THAT(status.message(), HasSubstr("aborted while waiting to receive from"));
}

TEST_P(PeerSocketKinds, TheEndOfTheOtherSideIsAnError) {
  PeerSockets peers = connect();
  ASSERT_TRUE(send_all(peers.connecting, pattern(3), soon()).ok());
  peers.connecting.close();
  EXPECT_FALSE(peers.connecting.valid());
  Bytes got(4);
  const Status status = receive_all(peers.accepting, got, soon());
  EXPECT_EQ(status.code(), Code::remote_error);
  EXPECT_THAT(status.message(), HasSubstr("closed by the other side"));
}

TEST_P(PeerSocketKinds, SendingToNobodyRaisesNoSignal) {
  PeerSockets peers = connect();
  peers.accepting.close();
  Status status;
  for (const Deadline deadline = soon(); status.ok() && !deadline.over();)
    status = send_all(peers.connecting, Bytes(100'000), deadline);
  EXPECT_EQ(status.code(), Code::remote_error);
}

class PeerSocketChange : public testing::TlsTest {};

TEST_F(PeerSocketChange, APlainConnectionBecomesAnEncryptedOne) {
  SocketPair sockets = connect_sockets();
  PeerSocket connecting(std::move(sockets.connecting));
  PeerSocket accepting(std::move(sockets.accepting));
  const auto context = context_of('a');
  Bytes got(5);
  std::thread other([&] {
    Bytes verdict(7);
    EXPECT_TRUE(send_all(connecting, pattern(5), soon()).ok());
    EXPECT_TRUE(receive_all(connecting, verdict, soon()).ok());
    EXPECT_TRUE(connecting.secure(context, TlsRole::connects).ok());
    EXPECT_TRUE(send_all(connecting, pattern(6), soon()).ok()) << "the handshake is part of it";
  });
  EXPECT_TRUE(receive_all(accepting, got, soon()).ok());
  EXPECT_TRUE(got == pattern(5));
  EXPECT_TRUE(send_all(accepting, pattern(7), soon()).ok());
  EXPECT_TRUE(accepting.secure(context, TlsRole::accepts).ok());
  got.resize(6);
  const Status status = receive_all(accepting, got, soon());
  other.join();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(got == pattern(6));
}

TEST_F(PeerSocketChange, APeerThatIsSilentIsNamedAfterTheDeadline) {
  SocketPair sockets = connect_sockets();
  PeerSocket connecting(std::move(sockets.connecting));
  ASSERT_TRUE(connecting.secure(context_of('a'), TlsRole::connects).ok());
  const Status status = wait_ready(connecting, Deadline::in_ms(30));
  EXPECT_EQ(status.code(), Code::remote_error);
  EXPECT_THAT(status.message(),
              HasSubstr("no answer in time while waiting to agree on keys with 127.0.0.1:"));
}

TEST_F(PeerSocketChange, AWrongSecretIsSaidByBothWaits) {
  SocketPair sockets = connect_sockets();
  PeerSocket connecting(std::move(sockets.connecting));
  PeerSocket accepting(std::move(sockets.accepting));
  ASSERT_TRUE(connecting.secure(context_of('a'), TlsRole::connects).ok());
  ASSERT_TRUE(accepting.secure(context_of('b'), TlsRole::accepts).ok());
  Status mine;
  std::thread other([&] { mine = wait_ready(connecting, soon()); });
  const Status status = wait_ready(accepting, soon());
  other.join();
  EXPECT_THAT(status.message(), HasSubstr("its secret is not the one of this process"));
  EXPECT_THAT(mine.message(), HasSubstr("whose secret is not its own"));
}

}  // namespace
}  // namespace weir
