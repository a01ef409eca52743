// SPDX-License-Identifier: Apache-2.0
/// Two ends of a connection over loopback for tests of encryption, and secrets.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <poll.h>

#include <memory>
#include <utility>

#include "src/net/tls/tls_session.h"

namespace weir::testing {

/// Skips its cases where OpenSSL is missing, and looks after each whether an error was left in its queue.
class TlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto openssl = drivers::load_openssl();
    if (!openssl.ok()) GTEST_SKIP() << openssl.status().message();
    openssl_ = openssl.value();
  }
  void TearDown() override {
    if (openssl_ == nullptr) return;
    EXPECT_EQ(openssl_->get_error(), 0u) << "an error was left in OpenSSL's queue";
  }

  const drivers::OpenSslTable* openssl_ = nullptr;
};

struct SocketPair {
  Socket connecting, accepting;
};

inline SocketPair connect_sockets() {
  const Socket listener = std::move(*Socket::listen(SocketAddress::loopback(AF_INET, 0)));
  SocketPair pair;
  pair.connecting = std::move(*Socket::connect(*listener.local_address(), Deadline::in_ms(20'000)));
  while (!pair.accepting.valid()) {
    EXPECT_TRUE(wait_for(listener.fd(), POLLIN, Deadline::in_ms(20'000)));
    if (auto accepted = listener.accept(); accepted.ok() && accepted->has_value())
      pair.accepting = std::move(**accepted);
  }
  return pair;
}

inline Bytes secret_of(char letter) { return Bytes(kLeastTlsSecret, static_cast<std::byte>(letter)); }

inline std::shared_ptr<const TlsContext> context_of(const TlsSettings& settings) {
  auto context = TlsContext::make(settings);
  EXPECT_TRUE(context.ok()) << context.status().message();
  return context.ok() ? *context : nullptr;
}
inline std::shared_ptr<const TlsContext> context_of(char letter) {
  return context_of(*TlsSettings::with_secret(secret_of(letter)));
}

struct Peers {
  std::unique_ptr<TlsSession> connecting, accepting;
};

inline std::unique_ptr<TlsSession> begin_session(std::shared_ptr<const TlsContext> context, Socket socket,
                                                 TlsRole role, BytesView binding = {}) {
  return std::move(*TlsSession::begin(std::move(context), std::move(socket), role, binding));
}

inline Peers begin_peers(const std::shared_ptr<const TlsContext>& connecting,
                         const std::shared_ptr<const TlsContext>& accepting) {
  SocketPair sockets = connect_sockets();
  return {begin_session(connecting, std::move(sockets.connecting), TlsRole::connects),
          begin_session(accepting, std::move(sockets.accepting), TlsRole::accepts)};
}

/// What became of a handshake at both ends.
struct Outcome {
  Status connecting, accepting;
};

/// Moves both ends on until each is ready or has failed.
inline Outcome greet(TlsSession& connecting, TlsSession& accepting) {
  const Deadline deadline = Deadline::in_ms(60'000);
  for (;;) {
    const auto first = connecting.handshake();
    const auto second = accepting.handshake();
    const bool first_over = !first.ok() || *first;
    const bool second_over = !second.ok() || *second;
    if (first_over && second_over) return {first.status(), second.status()};
    pollfd polls[2] = {{connecting.socket().fd(), first_over ? short{0} : connecting.events(), 0},
                       {accepting.socket().fd(), second_over ? short{0} : accepting.events(), 0}};
    if (first_over) polls[0].fd = -1;
    if (second_over) polls[1].fd = -1;
    poll(polls, 2, kPollSliceMs);
    if (deadline.over())
      return {Status(Code::internal_error, "no end"), Status(Code::internal_error, "no end")};
  }
}

/// Two ends that have accepted each other.
inline Peers greeted_peers(const std::shared_ptr<const TlsContext>& context) {
  Peers peers = begin_peers(context, context);
  const Outcome outcome = greet(*peers.connecting, *peers.accepting);
  EXPECT_TRUE(outcome.connecting.ok()) << outcome.connecting.message();
  EXPECT_TRUE(outcome.accepting.ok()) << outcome.accepting.message();
  return peers;
}

inline iovec part(BytesView bytes) { return {const_cast<std::byte*>(bytes.data()), bytes.size()}; }

inline Result<size_t> send_some(TlsSession& session, BytesView bytes) {
  const iovec one = part(bytes);
  return session.try_send(std::span(&one, 1));
}

/// Bytes that differ from each other, so that a lost or a moved one shows.
inline Bytes pattern(size_t size) {
  Bytes bytes(size);
  uint64_t state = size + 1;
  for (std::byte& byte : bytes)
    byte = static_cast<std::byte>((state = state * 6364136223846793005u + 1) >> 56);
  return bytes;
}

}  // namespace weir::testing
