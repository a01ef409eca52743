// SPDX-License-Identifier: Apache-2.0
// What a listener does with those who have no secret, and with those who show the proofs of others.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <atomic>
#include <thread>

#include "src/net/listener/incoming_connection.h"
#include "src/net/listener/listener.h"
#include "src/net/listener/outgoing_connection.h"
#include "tests/net/receive.h"

namespace weir::strangers {
namespace {

using listener_wire::Decision;
using listener_wire::Hello;
using listener_wire::HelloKind;
using listener_wire::Opening;
using listener_wire::Verdict;
using ::testing::HasSubstr;

constexpr uint64_t kJobKey = 0xfeed'beef;
constexpr DeliveryKey kOwn{kJobKey << 32 | 5, 1, 2, 3};
const Secret kJob = Secret::from_text("of the job");
const Secret kOther = Secret::from_text("of another job");

Deadline soon() { return Deadline::in_ms(10'000); }
BytesView view(std::string_view text) { return std::as_bytes(std::span(text)); }

class Strangers : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = Listener::open(SocketAddress::loopback(AF_INET, 0), [this](uint64_t scope, BytesView) {
      asked_ += scope != 0;  // others of this host may ask for reports
      return Bytes(1);
    });
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    listener_ = std::move(*opened);
    listener_->admit(kJobKey, kJob);
  }

  Socket connect() const { return std::move(*Socket::connect(listener_->address(), soon())); }
  static Challenge challenge_of(const Socket& socket) {
    std::array<std::byte, Opening::kBytes> bytes;
    EXPECT_TRUE(receive_all(socket, bytes, soon()).ok());
    return Opening::decode(bytes)->challenge;
  }
  /// What the listener says to a hello; nullopt if it closes the connection.
  static std::optional<Verdict> verdict_on(const Socket& socket, const Hello& hello) {
    EXPECT_TRUE(socket.send_all(hello.encode(), soon()).ok());
    std::array<std::byte, Verdict::kBytes> bytes;
    if (!receive_all(socket, bytes, soon()).ok()) return std::nullopt;
    return Verdict::decode(bytes);
  }
  Hello proven(const Challenge& asked, const Secret& secret, HelloKind kind = HelloKind::delivery) const {
    Hello hello{kind, 0, kOwn, *random_challenge(), {}};
    hello.prove(secret, asked, listener_->address());
    return hello;
  }
  static bool is_closed(const Socket& socket) {
    std::array<std::byte, 1> into;
    const Status status = receive_all(socket, into, soon());
    return status.code() == Code::remote_error && status.message().find("in time") == std::string::npos;
  }

  std::atomic<int> asked_{0};
  std::unique_ptr<Listener> listener_;
};

TEST_F(Strangers, WhoHasNoSecretIsRefused) {
  for (const HelloKind kind : {HelloKind::delivery, HelloKind::message, HelloKind::question}) {
    for (const Secret& wrong : {kOther, Secret(), report_secret(kJob)}) {
      const Socket socket = connect();
      const auto verdict = verdict_on(socket, proven(challenge_of(socket), wrong, kind));
      ASSERT_TRUE(verdict.has_value());
      EXPECT_EQ(verdict->decision, Decision::refused);
      EXPECT_TRUE(is_closed(socket));
    }
  }
  EXPECT_EQ(asked_, 0);
  EXPECT_FALSE(listener_->collect(kOwn).has_value());
  EXPECT_FALSE(listener_->receive(kOwn, Deadline::in_ms(1)).has_value());
  EXPECT_TRUE(deliver(listener_->address(), kOwn, kJob, soon()).ok());
}

TEST_F(Strangers, ASecretIsForTheCommunicatorsOfItsJobOnly) {
  listener_->admit(7, kOther);
  const DeliveryKey of_other{uint64_t{7} << 32 | 5, 1, 2, 3};
  EXPECT_TRUE(deliver(listener_->address(), of_other, kOther, soon()).ok());
  EXPECT_THAT(deliver(listener_->address(), of_other, kJob, soon()).status().message(),
              HasSubstr("another secret"));
  EXPECT_FALSE(deliver(listener_->address(), kOwn, kOther, soon()).ok());
  EXPECT_EQ(ask(listener_->address(), kOwn.scope, kOther, {}, soon()).kind, Answer::Kind::refused);
  EXPECT_EQ(ask(listener_->address(), kOwn.scope, kJob, {}, soon()).kind, Answer::Kind::given);
}

TEST_F(Strangers, TwoJobsMayHaveTheSameKey) {
  listener_->admit(kJobKey, kOther);
  EXPECT_TRUE(deliver(listener_->address(), kOwn, kOther, soon()).ok());
  EXPECT_TRUE(deliver(listener_->address(), kOwn, kJob, soon()).ok());
}

TEST_F(Strangers, AProofIsWorthNothingOnAnotherConnection) {
  const Socket first = connect();
  const Hello hello = proven(challenge_of(first), kJob);
  ASSERT_EQ(verdict_on(first, hello)->decision, Decision::admitted);
  const Socket second = connect();
  challenge_of(second);
  EXPECT_EQ(verdict_on(second, hello)->decision, Decision::refused) << "a replay";
}

TEST_F(Strangers, AProofIsWorthNothingForAnotherHello) {
  for (const int field : {0, 1, 2, 3}) {
    const Socket socket = connect();
    Hello hello = proven(challenge_of(socket), kJob);
    if (field == 0) hello.kind = HelloKind::message;
    if (field == 1) hello.key.from ^= 1;
    if (field == 2) hello.key.purpose ^= 1;
    if (field == 3) hello.key.scope ^= 1;
    EXPECT_EQ(verdict_on(socket, hello)->decision, Decision::refused) << field;
  }
}

/// A process in the middle passes on what two processes of the job say to each other.
TEST_F(Strangers, AProofIsWorthNothingAtAnotherListener) {
  const Socket fake = std::move(*Socket::listen(SocketAddress::loopback(AF_INET, 0)));
  std::thread relay([&] {
    Socket victim;
    while (!victim.valid()) {
      wait_for(fake.fd(), POLLIN, soon());
      if (auto accepted = fake.accept(); accepted->has_value()) victim = std::move(**accepted);
    }
    const Socket target = connect();
    std::array<std::byte, Opening::kBytes> opening;
    std::array<std::byte, Hello::kBytes> hello;
    std::array<std::byte, Verdict::kBytes> verdict;
    ASSERT_TRUE(receive_all(target, opening, soon()).ok());
    ASSERT_TRUE(victim.send_all(opening, soon()).ok());
    ASSERT_TRUE(receive_all(victim, hello, soon()).ok());
    ASSERT_TRUE(target.send_all(hello, soon()).ok());
    ASSERT_TRUE(receive_all(target, verdict, soon()).ok());
    EXPECT_EQ(Verdict::decode(verdict)->decision, Decision::refused);
    ASSERT_TRUE(victim.send_all(verdict, soon()).ok());
  });
  EXPECT_FALSE(deliver(*fake.local_address(), kOwn, kJob, soon()).ok());
  relay.join();
}

/// The listener's own challenge comes back as the asker's, in the hope that its verdict is a proof.
TEST_F(Strangers, AVerdictIsNoProofOfAHello) {
  Hello hello{HelloKind::delivery, 0, kOwn, {}, {}};
  const Verdict verdict = Verdict::admitted(kJob, hello);
  const Socket socket = connect();
  hello.challenge = challenge_of(socket);
  hello.proof = verdict.proof;
  EXPECT_EQ(verdict_on(socket, hello)->decision, Decision::refused);
  hello.prove(kJob, hello.challenge, listener_->address());
  EXPECT_FALSE((Verdict{Decision::admitted, hello.proof}.is_proven(kJob, hello))) << "a reflection";
}

/// A false listener admits everybody.
TEST(OutgoingConnection, DoesNotBelieveAListenerWithoutTheSecret) {
  const Socket fake = std::move(*Socket::listen(SocketAddress::loopback(AF_INET, 0)));
  OutgoingConnection connection(*fake.local_address(), kOwn, kJob);
  Socket peer;
  Result<bool> admitted = false;
  bool said = false;
  for (const Deadline deadline = soon(); admitted.ok() && !*admitted && !deadline.over();) {
    admitted = connection.advance();
    if (auto accepted = fake.accept(); accepted->has_value()) {
      peer = std::move(**accepted);
      ASSERT_TRUE(peer.send_all(Opening{}.encode(), soon()).ok());
    }
    std::array<std::byte, Hello::kBytes> hello;
    if (!said && peer.valid() && receive_all(peer, hello, Deadline::in_ms(1)).ok()) {
      said = true;
      ASSERT_TRUE(peer.send_all(Verdict{Decision::admitted}.encode(), soon()).ok());
    }
  }
  EXPECT_THAT(admitted.status().message(), HasSubstr("does not know its secret"));
}

/// A listener that is full closes connections; the asker comes again.
TEST(OutgoingConnection, TriesAgainWhenItIsClosedBeforeTheVerdict) {
  const Socket fake = std::move(*Socket::listen(SocketAddress::loopback(AF_INET, 0)));
  OutgoingConnection connection(*fake.local_address(), kOwn, kJob);
  int came = 0;
  for (const Deadline deadline = soon(); came < 3 && !deadline.over();) {
    const auto admitted = connection.advance();
    ASSERT_TRUE(admitted.ok()) << admitted.status().message();
    if (fake.accept()->has_value()) ++came;
  }
  EXPECT_EQ(came, 3);
}

TEST(OutgoingConnection, GivesUpWhereNobodyListens) {
  const SocketAddress closed = *Socket::listen(SocketAddress::loopback(AF_INET, 0))->local_address();
  EXPECT_EQ(deliver(closed, kOwn, kJob, Deadline::never()).status().code(), Code::remote_error);
}

TEST_F(Strangers, WhoSpeaksAnotherProtocolIsSentAway) {
  const Socket http = connect();
  ASSERT_TRUE(http.send_all(view("GET / HTTP/1.1\r\nHost: somebody who is not expected, and who says "
                                 "enough to fill a hello\r\n\r\n"),
                            soon())
                  .ok());
  challenge_of(http);
  EXPECT_TRUE(is_closed(http));
  EXPECT_EQ(ask(listener_->address(), kOwn.scope, kJob, {}, soon()).kind, Answer::Kind::given);
}

TEST_F(Strangers, WhoSaysNothingIsSentAwayWithoutHarmToOthers) {
  std::vector<Socket> mute;
  for (size_t i = 0; i < 2 * Listener::kMostStrangers; ++i) mute.push_back(connect());
  EXPECT_EQ(ask(listener_->address(), kOwn.scope, kJob, {}, Deadline::in_ms(60'000)).kind,
            Answer::Kind::given);
  challenge_of(mute[0]);
  EXPECT_TRUE(is_closed(mute[0]));
}

/// Whoever keeps sending is heard no longer than a hello is long.
TEST_F(Strangers, WhoSaysMuchIsSentAway) {
  const Socket socket = connect();
  const Bytes much(1 << 20);
  Status status;
  for (const Deadline deadline = soon(); status.ok() && !deadline.over();)
    status = socket.send_all(much, deadline);
  EXPECT_FALSE(status.ok());
}

/// Both ends of a connection to a listener that admits the job; the listener's end runs in this thread.
class IncomingConnectionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    jobs_.admit(kJobKey, kJob);
    wait_for(fake_.fd(), POLLIN, soon());
    connection_.emplace(std::move(**fake_.accept()), address_, 0);
    std::array<std::byte, Opening::kBytes> opening;
    ASSERT_TRUE(receive_all(asker_, opening, soon()).ok());
    challenge_ = Opening::decode(opening)->challenge;
  }

  const Socket fake_ = std::move(*Socket::listen(SocketAddress::loopback(AF_INET, 0)));
  const SocketAddress address_ = *fake_.local_address();
  const Socket asker_ = std::move(*Socket::connect(address_, soon()));
  AdmittedJobs jobs_;
  std::optional<IncomingConnection> connection_;
  Challenge challenge_;
};

/// The memory of a body grows with what has arrived.
TEST_F(IncomingConnectionTest, MakesNoRoomForWhatHasNotArrived) {
  Hello hello{HelloKind::message, Listener::kMostBytes, kOwn, {}, {}};
  hello.prove(kJob, challenge_, address_);
  EXPECT_EQ(connection_->advance(jobs_, {}), IncomingConnection::Step::waits);
  EXPECT_LE(connection_->body().capacity(), Hello::kBytes);
  ASSERT_TRUE(asker_.send_all(hello.encode(), soon()).ok());
  while (connection_->is_stranger())
    ASSERT_EQ(connection_->advance(jobs_, {}), IncomingConnection::Step::waits);
  EXPECT_LE(connection_->body().capacity(), size_t{64} << 10);
  ASSERT_TRUE(asker_.send_all(Bytes(1000), soon()).ok());
  EXPECT_EQ(connection_->advance(jobs_, {}), IncomingConnection::Step::waits);
  EXPECT_LE(connection_->body().capacity(), size_t{64} << 10);
}

/// Reports may be for everybody; whoever asks for them is bounded like others who have proven nothing.
class ReportReaderTest : public IncomingConnectionTest, public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Proves, ReportReaderTest, ::testing::Bool());

TEST_P(ReportReaderTest, StaysAStrangerWithoutASecret) {
  Hello hello{HelloKind::report, 200, kOwn, {}, {}};
  if (GetParam()) hello.prove(report_secret(kJob), challenge_, address_);
  ASSERT_TRUE(asker_.send_all(hello.encode(), soon()).ok());
  while (!wait_for(asker_.fd(), POLLIN, Deadline::in_ms(0)))
    ASSERT_EQ(connection_->advance(jobs_, [](const Socket&, bool) { return true; }),
              IncomingConnection::Step::waits);
  std::array<std::byte, Verdict::kBytes> verdict;
  ASSERT_TRUE(receive_all(asker_, verdict, soon()).ok());
  EXPECT_EQ(Verdict::decode(verdict)->decision, Decision::admitted);
  EXPECT_EQ(connection_->is_stranger(), !GetParam());
}

TEST(ListenerWire, HelloesWithImpossibleBodiesAreNone) {
  Hello hello{HelloKind::message, Listener::kMostBytes, kOwn, {}, {}};
  EXPECT_TRUE(Hello::decode(hello.encode()).has_value());
  ++hello.body;
  EXPECT_FALSE(Hello::decode(hello.encode()).has_value());
  hello = {HelloKind::delivery, 1, kOwn, {}, {}};
  EXPECT_FALSE(Hello::decode(hello.encode()).has_value());
  hello = {HelloKind::report, listener_wire::kMostReportBytes + 1, {}, {}, {}};
  EXPECT_FALSE(Hello::decode(hello.encode()).has_value());
  hello = {static_cast<HelloKind>(5), 0, kOwn, {}, {}};
  EXPECT_FALSE(Hello::decode(hello.encode()).has_value());
  for (size_t bytes = 0; bytes < Hello::kBytes; ++bytes)
    EXPECT_FALSE(Hello::decode(BytesView(Hello{}.encode()).first(bytes)).has_value()) << bytes;
}

}  // namespace
}  // namespace weir::strangers
