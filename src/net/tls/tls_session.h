// SPDX-License-Identifier: Apache-2.0
/// One encrypted connection over a connected socket.
///
/// It may be bound to what both sides have said in the clear before: the side that connects repeats a part of
/// that first, and the side that accepts compares it. Nobody in between can then continue the beginning of
/// one connection with the encrypted part of another.
///
/// Nothing blocks. The handshake is part of the first calls: until it is over, sends and receives move it on
/// and return 0. What poll() has to wait for meanwhile is said by events(); what poll() cannot see by
/// pending().
///
/// A session sends a record of up to 16 KiB at once or not at all. What the kernel does not take of it stays
/// here: the bytes count as sent, and flush() and every later call pass them on. Whoever has nothing more to
/// send looks at unsent().
///
/// Errors are remote_error, and final: each later call returns the same one. The sentence names the peer,
/// says which side refused and why: a wrong secret, a certificate that is not trusted or has expired, a peer
/// that does not speak TLS, a connection that was cut. An orderly end of the other side is an error as well,
/// as for a Socket. No call raises SIGPIPE.
///
/// Thread safety: a session is used by one thread at a time, unlike a Socket: sending and receiving share
/// state. Different sessions of one context are independent.
/// Tests: tests/net/tls/tls_session_test.cc, tests/net/tls/tls_handshake_test.cc
#pragma once

#include <sys/uio.h>

#include <memory>
#include <span>
#include <string>

#include "src/net/socket.h"
#include "src/net/tls/tls_context.h"
#include "src/net/tls/tls_wire.h"

namespace weir {

class TlsSession {
 public:
  /// Takes over a connected socket from which nothing was read that belongs to TLS. `binding`: what was said
  /// before, the same on both sides, at most 16 KiB. system_error if there is no memory.
  static Result<std::unique_ptr<TlsSession>> begin(std::shared_ptr<const TlsContext> context, Socket socket,
                                                   TlsRole role, BytesView binding = {});
  /// Tells the other side, if the socket takes that at once, and closes the socket.
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  /// Continues the handshake; true once both sides have accepted each other.
  Result<bool> handshake();
  /// Whether the handshake is over, and bytes may flow.
  bool is_ready() const { return ready_; }
  /// Takes bytes from the front of `parts`, and returns their number; 0: none now.
  Result<size_t> try_send(std::span<const iovec> parts);
  /// Receives as many bytes as there are, up to the size of `into`; 0: none now.
  Result<size_t> try_receive(std::span<std::byte> into);
  /// Passes bytes that count as sent to the kernel. Returns true if none are left.
  Result<bool> flush();

  /// Whether bytes that count as sent have not been passed to the kernel.
  bool unsent() const { return wire_.kept() > 0; }
  /// Whether the next try_receive() may find bytes even if poll() shows none. Ask before every poll.
  bool pending() const { return pending_; }
  /// What poll() has to wait for on behalf of the session: POLLOUT while bytes are unsent, POLLIN while the
  /// other side has to say something in the handshake, else 0. The caller adds what it waits for itself.
  short events() const;
  /// Whether the other side has ended the connection in order.
  bool ended() const { return ended_; }
  /// The destructor shall not tell the other side that this is an end in order.
  void abandon() { told_ = true; }
  const Socket& socket() const { return socket_; }

 private:
  TlsSession(std::shared_ptr<const TlsContext> context, Socket socket);

  Status attach(TlsRole role);
  Result<bool> take_step();
  Result<bool> bind();
  Result<bool> confirm();
  Status check_proof();
  Result<size_t> send_record(BytesView record);
  BytesView next_record(std::span<const iovec> parts, size_t at, size_t offset);
  Result<size_t> receive_some(std::span<std::byte> into);
  bool is_for_later(int result, int& why);
  Status fail(int why);
  const drivers::OpenSslTable& openssl() const { return context_->openssl(); }

  const std::shared_ptr<const TlsContext> context_;
  const Socket socket_;
  const std::string peer_;  ///< asked for at once: a reset connection does not know it any more
  TlsWire wire_;
  drivers::Ssl* ssl_ = nullptr;
  TlsRole role_ = TlsRole::connects;
  bool greeted_ = false;  ///< OpenSSL has completed the handshake
  Bytes binding_;         ///< what was said before; empty once it is compared, or if there is nothing
  bool ready_ = false;    ///< and the other side has confirmed it
  bool pending_ = false;
  bool ended_ = false;
  bool told_ = false;  ///< that the connection ends
  Bytes gathered_;     ///< short parts, as one record
  Status error_;
};

}  // namespace weir
