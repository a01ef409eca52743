// SPDX-License-Identifier: Apache-2.0

#include "src/net/tls/tls_session.h"

#include <algorithm>
#include <random>
#include <thread>

#include "tests/net/tls/raw_tls.h"
#include "tests/net/tls/tls_peers.h"

namespace weir {
namespace {

using testing::connect_sockets;
using testing::context_of;
using testing::greet;
using testing::greeted_peers;
using ::testing::HasSubstr;
using testing::part;
using testing::pattern;
using testing::Peers;
using testing::send_some;
using testing::SocketPair;

class TlsSessions : public testing::TlsTest {};

/// Receives exactly `size` bytes.
Result<Bytes> receive_from(TlsSession& session, size_t size) {
  Bytes bytes(size);
  const Deadline deadline = Deadline::in_ms(60'000);
  for (size_t got = 0; got < size;) {
    const auto more = session.try_receive(std::span(bytes).subspan(got));
    WEIR_TRY(more.status());
    got += *more;
    if (*more == 0 && !session.pending() && !wait_for(session.socket().fd(), POLLIN, deadline))
      return Status(Code::internal_error, "no end");
  }
  return bytes;
}

/// Sends `bytes` while the other end receives them.
void expect_carried(TlsSession& from, TlsSession& to, BytesView bytes) {
  std::thread sender([&] {
    for (BytesView left = bytes; !left.empty() || from.unsent();) {
      const auto sent = send_some(from, left);
      ASSERT_TRUE(sent.ok()) << sent.status().message();
      left = left.subspan(*sent);
      if (*sent == 0) wait_for(from.socket().fd(), POLLOUT, Deadline::in_ms(60'000));
    }
  });
  const auto got = receive_from(to, bytes.size());
  sender.join();
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_TRUE(std::ranges::equal(*got, bytes));
}

TEST_F(TlsSessions, CarryBytesBothWays) {
  const Peers peers = greeted_peers(context_of('a'));
  for (const size_t size : {1, 100, 16383, 16384, 16385, 100'000}) {
    expect_carried(*peers.connecting, *peers.accepting, pattern(size));
    expect_carried(*peers.accepting, *peers.connecting, pattern(size));
  }
}

TEST_F(TlsSessions, CarryALargeMessage) {
  const Peers peers = greeted_peers(context_of('a'));
  expect_carried(*peers.connecting, *peers.accepting, pattern(32 << 20));
}

TEST_F(TlsSessions, CarryManySmallMessages) {
  const Peers peers = greeted_peers(context_of('a'));
  const Bytes bytes = pattern(20'000 * 24);
  std::thread sender([&] {
    for (size_t at = 0; at < bytes.size();) {
      const auto sent = send_some(*peers.connecting, BytesView(bytes).subspan(at, 24));
      ASSERT_TRUE(sent.ok()) << sent.status().message();
      at += *sent;
      if (*sent == 0) wait_for(peers.connecting->socket().fd(), POLLOUT, Deadline::in_ms(60'000));
    }
    while (!*peers.connecting->flush())
      wait_for(peers.connecting->socket().fd(), POLLOUT, Deadline::in_ms(60'000));
  });
  const auto got = receive_from(*peers.accepting, bytes.size());
  sender.join();
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_TRUE(*got == bytes);
}

TEST_F(TlsSessions, SendPartsInTheirOrder) {
  const Peers peers = greeted_peers(context_of('a'));
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    const Bytes bytes = pattern(60'000);
    std::vector<iovec> parts = {{nullptr, 0}};
    for (size_t at = 0; at < bytes.size();) {
      const size_t size = std::min<size_t>(bytes.size() - at, random() % (round % 2 == 0 ? 100 : 40'000));
      parts.push_back(part(BytesView(bytes).subspan(at, size)));
      at += size;
    }
    parts.push_back({nullptr, 0});
    const auto sent = peers.connecting->try_send(parts);
    ASSERT_TRUE(sent.ok()) << sent.status().message();
    ASSERT_GT(*sent, 0u);
    const auto got = receive_from(*peers.accepting, *sent);
    ASSERT_TRUE(got.ok()) << got.status().message();
    EXPECT_TRUE(std::ranges::equal(*got, BytesView(bytes).first(*sent)));
    while (!*peers.connecting->flush()) continue;
  }
}

TEST_F(TlsSessions, NothingIsSentForNothing) {
  const Peers peers = greeted_peers(context_of('a'));
  EXPECT_EQ(*peers.connecting->try_send({}), 0u);
  EXPECT_EQ(*send_some(*peers.connecting, {}), 0u);
  EXPECT_EQ(*peers.connecting->try_receive({}), 0u);
  EXPECT_FALSE(wait_for(peers.accepting->socket().fd(), POLLIN, Deadline::in_ms(0)));
}

/// Sends until neither the kernel nor the session takes more; returns the number of bytes.
size_t fill(TlsSession& session, BytesView bytes) {
  size_t total = 0;
  for (;;) {
    const auto sent = send_some(session, bytes.subspan(total));
    EXPECT_TRUE(sent.ok()) << sent.status().message();
    if (!sent.ok() || *sent == 0) return total;
    total += *sent;
  }
}

TEST_F(TlsSessions, AFullSocketKeepsOneRecordAtMost) {
  const Peers peers = greeted_peers(context_of('a'));
  const Bytes bytes = pattern(64 << 20);
  const size_t sent = fill(*peers.connecting, bytes);
  ASSERT_LT(sent, bytes.size());
  EXPECT_TRUE(peers.connecting->unsent());
  EXPECT_EQ(peers.connecting->events(), POLLOUT);
  EXPECT_FALSE(*peers.connecting->flush());
  EXPECT_EQ(*send_some(*peers.connecting, BytesView(bytes).subspan(sent)), 0u);
  // All that counts as sent arrives, with the last record only after a flush.
  Bytes got(sent);
  size_t arrived = 0;
  for (const Deadline deadline = Deadline::in_ms(60'000); arrived < sent && !deadline.over();) {
    arrived += *peers.accepting->try_receive(std::span(got).subspan(arrived));
    ASSERT_TRUE(peers.connecting->flush().ok());
  }
  EXPECT_FALSE(peers.connecting->unsent());
  EXPECT_EQ(arrived, sent);
  EXPECT_TRUE(std::ranges::equal(got, BytesView(bytes).first(sent)));
}

TEST_F(TlsSessions, PendingTellsOfBytesThatPollDoesNotShow) {
  const Peers peers = greeted_peers(context_of('a'));
  const Bytes bytes = pattern(3 * 100);
  for (size_t at = 0; at < 300; at += 100)
    ASSERT_EQ(*send_some(*peers.connecting, BytesView(bytes).subspan(at, 100)), 100u);
  EXPECT_FALSE(peers.accepting->pending());
  ASSERT_TRUE(wait_for(peers.accepting->socket().fd(), POLLIN, Deadline::in_ms(20'000)));
  Bytes got(300);
  ASSERT_EQ(*peers.accepting->try_receive(std::span(got).first(1)), 1u);
  EXPECT_TRUE(peers.accepting->pending());
  ASSERT_EQ(*peers.accepting->try_receive(std::span(got).subspan(1, 99)), 99u);
  size_t arrived = 100;
  while (arrived < 300) {
    if (!peers.accepting->pending())
      wait_for(peers.accepting->socket().fd(), POLLIN, Deadline::in_ms(20'000));
    arrived += *peers.accepting->try_receive(std::span(got).subspan(arrived));
  }
  EXPECT_EQ(*peers.accepting->try_receive(got), 0u);
  EXPECT_FALSE(peers.accepting->pending());
}

TEST_F(TlsSessions, AnOrderlyEndIsToldFromACut) {
  const auto context = context_of('a');
  for (const bool orderly : {true, false}) {
    Peers peers = greeted_peers(context);
    ASSERT_EQ(*send_some(*peers.connecting, pattern(10)), 10u);
    if (orderly)
      peers.connecting.reset();
    else
      shutdown(peers.connecting->socket().fd(), SHUT_WR);
    ASSERT_TRUE(receive_from(*peers.accepting, 10).ok()) << "what arrived before is received";
    const auto end = receive_from(*peers.accepting, 1);
    EXPECT_EQ(end.status().code(), Code::remote_error);
    EXPECT_THAT(end.status().message(),
                HasSubstr(orderly ? "closed by the other side" : "connection was cut"));
  }
}

TEST_F(TlsSessions, AnErrorBehindBytesIsPending) {
  Peers peers = greeted_peers(context_of('a'));
  ASSERT_EQ(*send_some(*peers.connecting, pattern(10)), 10u);
  peers.connecting.reset();
  const Deadline deadline = Deadline::in_ms(20'000);
  Bytes got(20);
  size_t arrived = 0;
  while (arrived == 0 && wait_for(peers.accepting->socket().fd(), POLLIN, deadline))
    arrived = *peers.accepting->try_receive(got);
  EXPECT_EQ(arrived, 10u);
  while (!peers.accepting->pending() && wait_for(peers.accepting->socket().fd(), POLLIN, deadline)) {
    if (!peers.accepting->try_receive(got).ok()) break;
  }
  EXPECT_FALSE(peers.accepting->try_receive(got).ok());
}

TEST_F(TlsSessions, SendingToNobodyRaisesNoSignal) {
  Peers peers = greeted_peers(context_of('a'));
  peers.accepting.reset();
  Status status;
  for (const Deadline deadline = Deadline::in_ms(60'000); status.ok() && !deadline.over();)
    status = send_some(*peers.connecting, Bytes(100'000)).status();
  EXPECT_EQ(status.code(), Code::remote_error);
  EXPECT_THAT(status.message(), HasSubstr("TLS with 127.0.0.1:"));
}

/// Two sessions with somebody in between who sees all bytes.
class Between {
 public:
  explicit Between(const std::shared_ptr<const TlsContext>& context) {
    SocketPair first = connect_sockets();
    SocketPair second = connect_sockets();
    ends_ = {testing::begin_session(context, std::move(first.connecting), TlsRole::connects),
             testing::begin_session(context, std::move(second.accepting), TlsRole::accepts)};
    near_ = std::move(first.accepting);
    far_ = std::move(second.connecting);
    const Deadline deadline = Deadline::in_ms(60'000);
    for (bool over = false; !over && !deadline.over();) {
      over = *ends_.connecting->handshake() & *ends_.accepting->handshake();
      pass(take(near_), far_);
      pass(take(far_), near_);
    }
  }

  TlsSession& sender() { return *ends_.connecting; }
  TlsSession& receiver() { return *ends_.accepting; }
  /// What the sender has sent so far.
  Bytes take(const Socket& from) {
    Bytes bytes(100'000);
    const auto got = from.try_recv(bytes);
    bytes.resize(got.ok() ? *got : 0);
    seen_.insert(seen_.end(), bytes.begin(), bytes.end());
    return bytes;
  }
  Bytes take_sent() {
    EXPECT_TRUE(wait_for(near_.fd(), POLLIN, Deadline::in_ms(20'000)));
    return take(near_);
  }
  void pass(BytesView bytes, const Socket& to) {
    EXPECT_TRUE(to.send_all(bytes, Deadline::in_ms(20'000)).ok());
  }
  void pass_on(BytesView bytes) { pass(bytes, far_); }
  const Bytes& seen() const { return seen_; }

 private:
  Peers ends_;
  Socket near_, far_;
  Bytes seen_;
};

TEST_F(TlsSessions, SomebodyInBetweenSeesNoPlaintext) {
  Between between(context_of('a'));
  const std::string planted = "the quick brown fox jumps over the lazy dog";
  ASSERT_EQ(*send_some(between.sender(), std::as_bytes(std::span(planted))), planted.size());
  between.pass_on(between.take_sent());
  const auto got = receive_from(between.receiver(), planted.size());
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(got->data()), got->size()), planted);
  const auto plain = std::as_bytes(std::span(planted)).first(8);
  EXPECT_TRUE(std::ranges::search(between.seen(), plain).empty());
  EXPECT_GT(between.seen().size(), planted.size());
}

TEST_F(TlsSessions, AChangedByteEndsTheConnection) {
  const auto context = context_of('a');
  for (const size_t at : {0, 3, 5, 20}) {
    Between between(context);
    ASSERT_EQ(*send_some(between.sender(), pattern(100)), 100u);
    Bytes changed = between.take_sent();
    changed[at] ^= std::byte{1};
    between.pass_on(changed);
    between.pass_on(Bytes(1000));  // a longer record waits for its end
    EXPECT_FALSE(receive_from(between.receiver(), 1).ok()) << "byte " << at;
  }
}

TEST_F(TlsSessions, AReplayedRecordEndsTheConnection) {
  Between between(context_of('a'));
  ASSERT_EQ(*send_some(between.sender(), pattern(100)), 100u);
  const Bytes record = between.take_sent();
  between.pass_on(record);
  between.pass_on(record);
  EXPECT_TRUE(receive_from(between.receiver(), 100).ok());
  EXPECT_THAT(receive_from(between.receiver(), 1).status().message(),
              HasSubstr("this process refuses what it sent"));
}

TEST_F(TlsSessions, OfOneContextRunInSeveralThreads) {
  const auto context = context_of('a');
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 5; ++round) {
        const Peers peers = greeted_peers(context);
        expect_carried(*peers.connecting, *peers.accepting, pattern(200'000));
        const Peers refused = testing::begin_peers(context_of('b'), context);
        EXPECT_FALSE(greet(*refused.connecting, *refused.accepting).accepting.ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(TlsSessions, SurviveAPeerThatChangesItsKeysAllTheTime) {
  const auto library = drivers::Library::open("libssl.so.3");
  ASSERT_TRUE(library.ok());
  int (*update_key)(drivers::Ssl*, int) = nullptr;
  ASSERT_TRUE(library.value().find("SSL_key_update", update_key));
  constexpr int kAnswerIsWanted = 1;  // SSL_KEY_UPDATE_REQUESTED
  const auto context = context_of('a');
  SocketPair sockets = connect_sockets();
  const auto session = testing::begin_session(context, std::move(sockets.accepting), TlsRole::accepts);
  testing::RawTls peer(*context, std::move(sockets.connecting));
  ASSERT_TRUE(outcome_against(*session, peer).ok());
  ASSERT_TRUE(peer.move_on());
  std::byte byte{};
  for (int i = 0; i < 3000; ++i) {
    ASSERT_EQ(update_key(peer.ssl(), kAnswerIsWanted), 1);
    while (!peer.move_on()) continue;
    ASSERT_EQ(*session->try_receive(std::span(&byte, 1)), 0u);
    ASSERT_FALSE(session->unsent());
  }
  ASSERT_EQ(*send_some(*session, pattern(10)), 10u);
  EXPECT_FALSE(session->unsent());
}

}  // namespace
}  // namespace weir
