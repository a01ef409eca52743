// SPDX-License-Identifier: Apache-2.0
/// The connection between the two ends of a channel whose data uses other connections: it sets the channel
/// up, and its end tells that the other end has gone. The sender delivers it at the receiver's listener;
/// afterwards both sides exchange frames.
///
/// Not thread-safe. Nothing blocks.
/// Tests: tests/transports/verbs_test.cc
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include "src/base/bytes.h"
#include "src/net/listener/outgoing_connection.h"
#include "src/net/tls/peer_socket.h"

namespace weir {

enum class FrameKind : uint32_t { offer = 1, answer, go, fin, reopen, reopened, abandon };

struct FrameHead {
  static constexpr uint32_t kMagic = 0x6c696e65;

  uint32_t magic = kMagic;
  FrameKind kind = FrameKind::offer;
  uint32_t bytes = 0;  ///< number of payload bytes that follow
};

class SetupConnection {
 public:
  static constexpr uint32_t kMostBytes = 1u << 16;  ///< upper limit of a frame

  SetupConnection() = default;
  /// The sender's side: frames follow once the listener has admitted the connection.
  explicit SetupConnection(OutgoingConnection outgoing) : outgoing_(std::move(outgoing)) {}
  /// The receiver's side.
  explicit SetupConnection(PeerSocket socket) : socket_(std::move(socket)) {}

  bool open() const { return outgoing_ || socket_.valid(); }
  void put(FrameKind kind, BytesView payload);
  /// Sends and receives without blocking.
  void serve();
  /// The payload of the next frame if it has arrived and is of this kind. A frame of another kind ends the
  /// connection.
  std::optional<Bytes> take(FrameKind kind);
  /// The kind of the next frame, if all of it has arrived; of what is no frame, nothing.
  std::optional<FrameKind> next() const;
  bool sent() const { return !outgoing_ && out_.empty() && !socket_.unsent(); }
  /// The reason why nothing more arrives; empty while the connection works. Frames that arrived earlier may
  /// still be taken.
  const std::string& ended() const { return ended_; }

 private:
  std::optional<OutgoingConnection> outgoing_;  ///< until it is admitted
  PeerSocket socket_;
  Bytes out_;
  Bytes in_;
  std::string ended_;
};

/// Converts a trivially copyable value to bytes of a frame, and back; false if there are too few bytes.
template <typename T>
BytesView raw(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace weir
