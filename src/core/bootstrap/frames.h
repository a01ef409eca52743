// SPDX-License-Identifier: Apache-2.0
/// Length-prefixed frames over a non-blocking socket, for messages between ranks and their root.
/// Tests: tests/core/bootstrap_test.cc
#pragma once

#include <optional>

#include "src/base/bytes.h"
#include "src/net/tls/peer_socket.h"

namespace weir::core {

/// Not thread-safe.
class Frames {
 public:
  explicit Frames(Socket socket) : socket_(std::move(socket)) {}

  /// Reads bytes that have arrived, as many as the longest frame has; the rest waits in the kernel. Returns
  /// an error once the peer has closed or lost the connection, or sends anything but frames; next() still
  /// returns the frames that arrived before.
  Status receive();
  /// Removes and returns the oldest complete frame, if any.
  std::optional<Bytes> next();
  /// Queues `frame` and sends what the socket accepts now; flush() sends the rest.
  void send(BytesView frame);
  /// Sends queued bytes. receive() reports errors of the connection.
  void flush();
  bool flushed() const { return out_.empty() && !socket_.unsent(); }
  /// What to poll the socket for, and whether frames may be here that poll() does not show.
  short events() const;
  bool pending() const { return socket_.pending(); }
  /// Whether frames may flow: nothing is encrypted, or both sides have agreed on keys.
  bool ready() const { return socket_.is_ready(); }
  /// What is sent from now on is encrypted (see PeerSocket::secure). remote_error if the other side did not
  /// wait for that, or has not taken what was sent before.
  Status secure(std::shared_ptr<const TlsContext> context, TlsRole role, BytesView binding);

  /// Frames of a side that has proven nothing are at most `bytes` long.
  void distrust(uint32_t bytes) { most_bytes_ = bytes; }
  void trust() { most_bytes_ = kMostBytes; }

  const Socket& socket() const { return socket_.socket(); }
  void close() { socket_.close(); }

 private:
  static constexpr uint32_t kMostBytes = 1u << 20;

  uint32_t most_bytes_ = kMostBytes;
  PeerSocket socket_;
  Bytes in_;
  Bytes out_;
};

}  // namespace weir::core
