// SPDX-License-Identifier: Apache-2.0
/// The asking side of a connection to a listener: it connects, answers the challenge with a hello, and waits
/// for the verdict, each step as far as possible without blocking. With credentials for TLS, that begins
/// behind the verdict, bound to the proof of the hello.
///
/// A listener closes connections that are idle for long, or too many; a connection that ends before the
/// verdict is therefore tried again, until its owner gives up. A refused connection is an error at once: the
/// process has ended.
///
/// Not thread-safe. Errors: remote_error if the listener cannot be reached, refuses, or proves not to have
/// the secret; otherwise those of Socket.
/// Tests: tests/net/listener_test.cc, tests/net/strangers_test.cc
#pragma once

#include <poll.h>

#include <array>
#include <functional>
#include <optional>

#include "src/net/listener/listener_wire.h"
#include "src/net/socket.h"
#include "src/net/tls/credentials.h"
#include "src/net/tls/peer_socket.h"

namespace weir {

class OutgoingConnection {
 public:
  /// Makes a connecting socket, as Socket::start_connect() does; nullopt: call again later.
  using Connect = std::function<Result<std::optional<Socket>>()>;

  /// What the asker wants; see listener_wire.h.
  struct Request {
    listener_wire::HelloKind kind = listener_wire::HelloKind::delivery;
    DeliveryKey key;
    std::optional<Credentials> credentials;  ///< none: a report of this host, or one that is for everybody
    uint32_t body = 0;                       ///< bytes that follow
  };

  OutgoingConnection(Connect connect, const Request& request);
  /// A delivery under `key`.
  OutgoingConnection(const SocketAddress& listener, const DeliveryKey& key, const Credentials& credentials);
  OutgoingConnection(Connect connect, const DeliveryKey& key, const Credentials& credentials);
  /// Makes connections to a listener, from an address of this host if one is given.
  static Connect to(const SocketAddress& listener, const std::optional<SocketAddress>& from = std::nullopt);

  /// True once the listener has admitted this connection. Begins to connect when it is called first.
  Result<bool> advance();
  bool admitted() const { return stage_ == Stage::admitted; }
  /// True after the error that the listener does not show its reports to this process.
  bool forbidden() const { return forbidden_; }
  /// The descriptor and events to poll for before advance() can make progress; -1: none, call it again after
  /// a few milliseconds. REQUIRES: !admitted().
  pollfd waits_for() const;
  /// The connection, behind the verdict. REQUIRES: admitted().
  PeerSocket take() { return std::move(socket_); }

 private:
  enum class Stage : uint8_t { unconnected, connecting, connected, judged, securing, admitted };

  /// Each returns true when its stage is done.
  Result<bool> connect();
  Result<bool> finish_connecting();
  Result<bool> answer_challenge();
  Result<bool> hear_verdict();
  Result<bool> secure();
  Result<bool> fill(size_t bytes);
  bool encrypts() const { return request_.credentials && request_.credentials->tls != nullptr; }
  void try_again();
  Status not_weir() const;

  Connect connect_;
  Request request_;
  PeerSocket socket_;
  Stage stage_ = Stage::unconnected;
  std::array<std::byte, 32> in_{};
  size_t received_ = 0;
  listener_wire::Hello hello_;  ///< as it was sent
  bool forbidden_ = false;
  int64_t again_ns_ = 0;  ///< time of the next attempt
  int64_t pause_ns_ = 0;
};

/// Waits until `connection` is admitted and takes it; remote_error if `deadline` is over before. `meanwhile`,
/// if any, is called about every 20 ms; its error ends the attempt and is returned.
Result<PeerSocket> await_admission(OutgoingConnection& connection, const SocketAddress& listener,
                                   const Deadline& deadline, const std::function<Status()>& meanwhile);

}  // namespace weir
