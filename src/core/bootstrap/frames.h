// SPDX-License-Identifier: Apache-2.0
/// Length-prefixed frames over a socket, without blocking: how ranks and their root talk.
#pragma once

#include <optional>

#include "src/base/bytes.h"
#include "src/net/socket.h"

namespace weir::core {

/// Not thread-safe.
class Frames {
 public:
  explicit Frames(Socket socket) : socket_(std::move(socket)) {}

  /// Takes in what has come. An error once the other side has closed or broken the connection, or sends no
  /// frames; frames that came before stay.
  Status receive();
  /// The oldest frame that has come.
  std::optional<Bytes> next();
  /// Sends `frame`, as far as it goes now; the rest goes with flush().
  void send(BytesView frame);
  /// Errors of the connection are left to receive().
  void flush();
  bool flushed() const { return out_.empty(); }

  const Socket& socket() const { return socket_; }
  void close() { socket_.close(); }

 private:
  static constexpr uint32_t kMostBytes = 1u << 20;

  Socket socket_;
  Bytes in_;
  Bytes out_;
};

}  // namespace weir::core
