// SPDX-License-Identifier: Apache-2.0
/// Length-prefixed frames over a non-blocking socket, for messages between ranks and their root.
/// Tests: tests/core/bootstrap_test.cc
#pragma once

#include <optional>

#include "src/base/bytes.h"
#include "src/net/socket.h"

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
  bool flushed() const { return out_.empty(); }

  /// Frames of a side that has proven nothing are at most `bytes` long.
  void distrust(uint32_t bytes) { most_bytes_ = bytes; }
  void trust() { most_bytes_ = kMostBytes; }

  const Socket& socket() const { return socket_; }
  void close() { socket_.close(); }

 private:
  static constexpr uint32_t kMostBytes = 1u << 20;

  uint32_t most_bytes_ = kMostBytes;
  Socket socket_;
  Bytes in_;
  Bytes out_;
};

}  // namespace weir::core
