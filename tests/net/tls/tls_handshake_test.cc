// SPDX-License-Identifier: Apache-2.0

#include <random>

#include "tests/net/tls/raw_tls.h"
#include "tests/net/tls/test_certificates.h"
#include "tests/net/tls/tls_peers.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using testing::begin_peers;
using testing::begin_session;
using testing::connect_sockets;
using testing::context_of;
using testing::greet;
using testing::greeted_peers;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::Peers;
using testing::RawTls;
using testing::SocketPair;

constexpr int kTls12 = 0x0303;

Outcome outcome_of(const std::shared_ptr<const TlsContext>& connecting,
                   const std::shared_ptr<const TlsContext>& accepting) {
  const Peers peers = begin_peers(connecting, accepting);
  return greet(*peers.connecting, *peers.accepting);
}

void expect_refused(const Status& status, const char* words) {
  EXPECT_EQ(status.code(), Code::remote_error);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("TLS with 127.0.0.1:"), HasSubstr(words)));
}

class TlsSecretHandshake : public testing::TlsTest {};

TEST_F(TlsSecretHandshake, TheSameSecretIsAccepted) {
  const auto context = context_of('a');
  const Peers peers = greeted_peers(context);
  EXPECT_EQ(peers.connecting->events(), 0);
  EXPECT_EQ(peers.accepting->events(), 0);
}

TEST_F(TlsSecretHandshake, ALongSecretCountsAsAWhole) {
  Bytes secret = testing::pattern(300);
  const auto context = context_of(*TlsSettings::with_secret(secret));
  greeted_peers(context);
  secret.back() ^= std::byte{1};
  const Outcome outcome = outcome_of(context_of(*TlsSettings::with_secret(secret)), context);
  expect_refused(outcome.accepting, "its secret is not the one of this process");
}

TEST_F(TlsSecretHandshake, BothSidesSayThatTheSecretIsWrong) {
  const Outcome outcome = outcome_of(context_of('a'), context_of('b'));
  expect_refused(outcome.accepting, "this process refuses it: its secret is not the one of this process");
  expect_refused(outcome.connecting, "it refuses this process, whose secret is not its own");
}

TEST_F(TlsSecretHandshake, AContextOutlivesFailures) {
  const auto context = context_of('a');
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(outcome_of(context_of('b'), context).accepting.ok());
  greeted_peers(context);
}

/// What becomes of ends that were told of different beginnings, or of the same.
Outcome bound_outcome(const std::shared_ptr<const TlsContext>& context, std::string_view connecting,
                      std::string_view accepting) {
  SocketPair sockets = connect_sockets();
  const auto first = begin_session(context, std::move(sockets.connecting), TlsRole::connects,
                                   std::as_bytes(std::span(connecting)));
  const auto second = begin_session(context, std::move(sockets.accepting), TlsRole::accepts,
                                    std::as_bytes(std::span(accepting)));
  return greet(*first, *second);
}

TEST_F(TlsSecretHandshake, IsBoundToTheBeginningOfItsConnection) {
  const auto context = context_of('a');
  const Outcome same = bound_outcome(context, "said before", "said before");
  EXPECT_TRUE(same.connecting.ok() && same.accepting.ok()) << same.accepting.message();
  expect_refused(bound_outcome(context, "said before", "said elsewhere").accepting,
                 "it belongs to another connection");
  expect_refused(bound_outcome(context, "said before, and more", "said Before").accepting,
                 "it belongs to another connection");
}

TEST_F(TlsSecretHandshake, AFailureIsFinal) {
  const Peers peers = begin_peers(context_of('a'), context_of('b'));
  const Outcome outcome = greet(*peers.connecting, *peers.accepting);
  std::byte byte{};
  EXPECT_EQ(testing::send_some(*peers.accepting, Bytes(1)).status().message(), outcome.accepting.message());
  EXPECT_EQ(peers.accepting->try_receive(std::span(&byte, 1)).status().message(),
            outcome.accepting.message());
  EXPECT_EQ(peers.accepting->flush().status().message(), outcome.accepting.message());
  EXPECT_EQ(peers.accepting->events(), 0);
}

TEST_F(TlsSecretHandshake, AStrangerWithoutASecretIsRefused) {
  SocketPair sockets = connect_sockets();
  const auto session = begin_session(context_of('a'), std::move(sockets.accepting), TlsRole::accepts);
  RawTls stranger(*openssl_, std::move(sockets.connecting), drivers::openssl::kTls13);
  expect_refused(outcome_against(*session, stranger), "does not offer to prove that it knows the secret");
}

TEST_F(TlsSecretHandshake, AnOlderVersionIsRefused) {
  SocketPair sockets = connect_sockets();
  const auto session = begin_session(context_of('a'), std::move(sockets.accepting), TlsRole::accepts);
  RawTls stranger(*openssl_, std::move(sockets.connecting), kTls12);
  expect_refused(outcome_against(*session, stranger), "does not speak TLS 1.3");
}

/// What a process says to a peer that sends `bytes` instead of TLS, and then closes.
Status answer_to(BytesView bytes, TlsRole role, const std::shared_ptr<const TlsContext>& context) {
  SocketPair sockets = connect_sockets();
  const auto session = begin_session(context, std::move(sockets.accepting), role);
  EXPECT_TRUE(sockets.connecting.send_all(bytes, Deadline::in_ms(20'000)).ok());
  shutdown(sockets.connecting.fd(), SHUT_WR);
  for (const Deadline deadline = Deadline::in_ms(60'000); !deadline.over();) {
    const auto done = session->handshake();
    if (!done.ok()) return done.status();
    EXPECT_FALSE(*done);
    wait_for(session->socket().fd(), session->events(), deadline);
  }
  return Status(Code::internal_error, "no end");
}

TEST_F(TlsSecretHandshake, WhatIsNoTlsIsCalledSo) {
  const auto context = context_of('a');
  const std::string http = "GET / HTTP/1.1\r\nHost: weir\r\n\r\n";
  const Bytes zeroes(100);
  for (const TlsRole role : {TlsRole::accepts, TlsRole::connects}) {
    expect_refused(answer_to(std::as_bytes(std::span(http)), role, context), "is not TLS");
    expect_refused(answer_to(zeroes, role, context), "is not TLS");
    expect_refused(answer_to(Bytes(100, std::byte{0xff}), role, context), "is not TLS");
    expect_refused(answer_to({}, role, context), "closed the connection during the handshake");
  }
}

TEST_F(TlsSecretHandshake, RandomBytesNeverGetThrough) {
  const auto context = context_of('a');
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    Bytes bytes = testing::pattern(random() % 600);
    for (std::byte& byte : bytes) byte ^= static_cast<std::byte>(random());
    // Half of them look like the first record of a handshake.
    constexpr std::byte kHead[] = {std::byte{22}, std::byte{3}, std::byte{1}, std::byte{0}};
    if (i % 2 == 0 && bytes.size() > 9) std::copy(std::begin(kHead), std::end(kHead), bytes.begin());
    expect_refused(answer_to(bytes, i % 4 < 2 ? TlsRole::accepts : TlsRole::connects, context), "failed: ");
  }
}

/// The first message of a session.
Bytes first_flight(const std::shared_ptr<const TlsContext>& context) {
  SocketPair sockets = connect_sockets();
  const auto session = begin_session(context, std::move(sockets.connecting), TlsRole::connects);
  EXPECT_TRUE(session->handshake().ok());
  Bytes bytes(4096);
  EXPECT_TRUE(wait_for(sockets.accepting.fd(), POLLIN, Deadline::in_ms(20'000)));
  bytes.resize(*sockets.accepting.try_recv(bytes));
  return bytes;
}

TEST_F(TlsSecretHandshake, APeerThatVanishesAnywhereIsReported) {
  const auto context = context_of('a');
  const Bytes hello = first_flight(context);
  ASSERT_GT(hello.size(), 100u);
  for (size_t size = 1; size <= hello.size(); size += size < hello.size() - 8 ? 7 : 1)
    expect_refused(answer_to(BytesView(hello).first(size), TlsRole::accepts, context),
                   "during the handshake");
}

TEST_F(TlsSecretHandshake, AnyChangedByteIsRefused) {
  const auto context = context_of('a');
  const Bytes hello = first_flight(context);
  for (size_t at = 0; at < hello.size(); at += 3) {
    Bytes changed = hello;
    changed[at] ^= std::byte{0x10};
    expect_refused(answer_to(changed, TlsRole::accepts, context), "failed: ");
  }
}

TEST_F(TlsSecretHandshake, AReplayedOneGetsNoFurther) {
  const auto context = context_of('a');
  const Bytes hello = first_flight(context);
  for (int i = 0; i < 2; ++i)
    expect_refused(answer_to(hello, TlsRole::accepts, context), "closed the connection during the handshake");
}

class TlsCertificateHandshake : public testing::TlsTest {
 protected:
  void SetUp() override {
    TlsTest::SetUp();
    if (IsSkipped()) return;
    if (!testing::has_openssl_program()) GTEST_SKIP() << "the program openssl is missing";
    ASSERT_TRUE(files_.make_authority("ca") && files_.issue("rank", "ca"));
    member_ = context_of(files_.settings("rank", "ca"));
  }

  testing::TestCertificates files_;
  std::shared_ptr<const TlsContext> member_;
};

TEST_F(TlsCertificateHandshake, TwoMembersAcceptEachOther) {
  ASSERT_TRUE(files_.issue("second", "ca"));
  const Outcome outcome = outcome_of(context_of(files_.settings("second", "ca")), member_);
  EXPECT_TRUE(outcome.connecting.ok()) << outcome.connecting.message();
  EXPECT_TRUE(outcome.accepting.ok()) << outcome.accepting.message();
}

TEST_F(TlsCertificateHandshake, AnExpiredOneIsRefusedInBothDirections) {
  ASSERT_TRUE(files_.issue("old", "ca", -1));
  const auto old = context_of(files_.settings("old", "ca"));
  Outcome outcome = outcome_of(old, member_);
  expect_refused(outcome.accepting, "this process refuses its certificate: certificate has expired");
  expect_refused(outcome.connecting, "it refuses this process, whose certificate has expired");
  outcome = outcome_of(member_, old);
  expect_refused(outcome.connecting, "this process refuses its certificate: certificate has expired");
  expect_refused(outcome.accepting, "it refuses this process, whose certificate has expired");
}

TEST_F(TlsCertificateHandshake, OneOfAnotherAuthorityIsRefusedInBothDirections) {
  ASSERT_TRUE(files_.make_authority("other") && files_.issue("foreign", "other"));
  const auto foreign = context_of(files_.settings("foreign", "ca"));
  Outcome outcome = outcome_of(foreign, member_);
  expect_refused(outcome.accepting, "this process refuses its certificate: unable to get local issuer");
  expect_refused(outcome.connecting, "does not trust the authority of its certificate");
  outcome = outcome_of(member_, foreign);
  expect_refused(outcome.connecting, "this process refuses its certificate: unable to get local issuer");
  expect_refused(outcome.accepting, "does not trust the authority of its certificate");
}

TEST_F(TlsCertificateHandshake, OneThatItsOwnerMadeIsRefused) {
  ASSERT_TRUE(files_.make_authority("self"));
  const Outcome outcome = outcome_of(context_of(files_.settings("self", "ca")), member_);
  expect_refused(outcome.accepting, "this process refuses its certificate: self-signed");
}

TEST_F(TlsCertificateHandshake, AStrangerWithoutOneIsRefused) {
  SocketPair sockets = connect_sockets();
  const auto session = begin_session(member_, std::move(sockets.accepting), TlsRole::accepts);
  RawTls stranger(*openssl_, std::move(sockets.connecting), drivers::openssl::kTls13);
  expect_refused(outcome_against(*session, stranger), "it has shown no certificate");
}

TEST_F(TlsCertificateHandshake, SecretsAndCertificatesDoNotMix) {
  const auto secret = context_of('a');
  Outcome outcome = outcome_of(secret, member_);
  expect_refused(outcome.connecting, "it shows a certificate and not that it knows the secret");
  EXPECT_FALSE(outcome.accepting.ok());
  outcome = outcome_of(member_, secret);
  expect_refused(outcome.accepting, "does not offer to prove that it knows the secret");
  expect_refused(outcome.connecting, "expected the same WEIR_TLS in all processes");
}

TEST_F(TlsCertificateHandshake, ItIsOverOnlyWhenTheOtherSideHasLooked) {
  const Peers peers = begin_peers(member_, member_);
  Result<bool> connecting = false;
  // The other side answers once, and then no more.
  for (int step = 0; step < 3; ++step) {
    connecting = peers.connecting->handshake();
    if (step == 0) {
      ASSERT_TRUE(wait_for(peers.accepting->socket().fd(), POLLIN, Deadline::in_ms(20'000)));
      ASSERT_TRUE(peers.accepting->handshake().ok());
      ASSERT_TRUE(wait_for(peers.connecting->socket().fd(), POLLIN, Deadline::in_ms(20'000)));
    }
  }
  ASSERT_TRUE(connecting.ok()) << connecting.status().message();
  EXPECT_FALSE(*connecting);
  EXPECT_EQ(*testing::send_some(*peers.connecting, Bytes(1)), 0u);
  EXPECT_TRUE(greet(*peers.connecting, *peers.accepting).connecting.ok());
}

}  // namespace
}  // namespace weir
