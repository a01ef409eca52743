// SPDX-License-Identifier: Apache-2.0
/// A connection to a peer, plain or encrypted, with the calls of a Socket: whoever holds one need not know
/// which it is.
///
/// It begins plain. Once both sides know that the other may speak, secure() makes it encrypted; nothing that
/// belongs to TLS may have been read before. Errors are those of Socket, or of TlsSession.
///
/// Three things are new for users of a Socket, all of them without effect while it is plain: an encrypted
/// connection may hold bytes that count as sent (unsent(), flush()), may hold received bytes that poll()
/// does not show (pending()), and may wait for something itself (events()).
///
/// Thread safety: one thread at a time.
/// Tests: tests/net/tls/peer_socket_test.cc
#pragma once

#include <memory>
#include <span>

#include "src/net/socket.h"
#include "src/net/tls/tls_session.h"

namespace weir {

class PeerSocket {
 public:
  PeerSocket() = default;
  explicit PeerSocket(Socket socket) : plain_(std::move(socket)) {}

  bool valid() const { return socket().valid(); }
  /// The socket itself, for its options, counters and addresses; not for sending and receiving.
  const Socket& socket() const { return session_ != nullptr ? session_->socket() : plain_; }
  /// The other side sees an end in order, if all was read.
  void close();
  /// Ends the connection so that the other side sees that something was lost.
  void reset();

  /// Begins TLS on a connected socket, bound to `binding` (see TlsSession). REQUIRES: it is plain. After an
  /// error it is closed.
  Status secure(std::shared_ptr<const TlsContext> context, TlsRole role, BytesView binding = {});
  bool is_secured() const { return session_ != nullptr; }
  /// Whether bytes may flow: it is plain, or the handshake is over.
  bool is_ready() const { return session_ == nullptr || session_->is_ready(); }
  /// Continues the handshake, if there is one; true once bytes may flow. Never blocks.
  Result<bool> ready();

  /// Sends or receives what is possible without blocking, in the order of the parts; returns the number of
  /// bytes; 0: none now.
  Result<size_t> try_send(std::span<const iovec> parts);
  Result<size_t> try_send(BytesView bytes);
  Result<size_t> try_receive(std::span<const iovec> parts);
  Result<size_t> try_receive(std::span<std::byte> into);

  /// Where the other side has nothing more to say: true if it has ended the connection in order, false if
  /// not. An error if the connection was cut or reset, or if there are bytes. Never blocks.
  Result<bool> ended();

  bool unsent() const { return session_ != nullptr && session_->unsent(); }
  bool pending() const { return session_ != nullptr && session_->pending(); }
  /// Passes bytes that count as sent to the kernel. Returns true if none are left.
  Result<bool> flush();
  /// `wanted` (as of poll()), and what the session waits for itself.
  short events(short wanted) const;

 private:
  Socket plain_;
  std::unique_ptr<TlsSession> session_;
};

/// These wait, for set-up and for short frames. Errors: those of the socket; no answer before the deadline is
/// remote_error, an aborted wait invalid_usage.
///
/// Completes the handshake.
Status wait_ready(PeerSocket& socket, const Deadline& deadline);
/// Sends all bytes, and passes them to the kernel.
Status send_all(PeerSocket& socket, BytesView bytes, const Deadline& deadline);
/// Receives exactly as many bytes as fit into `into`.
Status receive_all(PeerSocket& socket, std::span<std::byte> into, const Deadline& deadline);

}  // namespace weir
