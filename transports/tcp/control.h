// SPDX-License-Identifier: Apache-2.0
/// The control connection of a path of a tcp channel: a separate connection for small control frames in both
/// directions. For the files of this folder only.
///
/// The sender opens it in addition to its streams, which stay one-directional: closing a socket with unread
/// bytes resets it and destroys data in flight, so the receiver must not send on a stream. Frames that are
/// lost when either end closes the control connection are not needed any more.
///
/// Not thread-safe.
/// Tests: tests/transports/tcp_failover_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "src/base/status.h"
#include "src/net/listener/listener.h"
#include "src/net/listener/outgoing_connection.h"
#include "src/net/socket_events.h"
#include "src/net/tls/peer_socket.h"
#include "transports/tcp/wire.h"

namespace weir::tcp {

enum class ControlKind : uint32_t {
  credit =
      1,  ///< receiver to sender: payload bytes that may be sent on the path, counted since the channel began
  announced =
      2,        ///< sender to receiver: payload bytes to be sent on the path, counted since the channel began
  arrived = 3,  ///< receiver to sender: an Acknowledgement, encoded as one number
  gone = 4,     ///< sender to receiver: the Attempt of a stream, which is abandoned as are those before it
  ping = 5,     ///< sender to receiver: no content; only the peer's kernel acknowledges it
  attempt = 6,  ///< sender to receiver: the Attempt of this path; the first frame of its control connection
};

inline constexpr uint32_t kControlMagic = 0x6374726c;

struct ControlFrame {
  uint32_t magic = kControlMagic;
  ControlKind kind = ControlKind::ping;
  uint64_t value = 0;
};
static_assert(sizeof(ControlFrame) == 16);

/// One end of a control connection.
class ControlConnection {
 public:
  /// The sender's end, which is delivered at the peer's listener.
  explicit ControlConnection(OutgoingConnection outgoing) : outgoing_(std::move(outgoing)) {}
  /// The receiver's end, as collected from the listener.
  explicit ControlConnection(PeerSocket socket) : socket_(std::move(socket)) {}

  /// True once the connection works from this end. Never blocks.
  Result<bool> ready();
  /// REQUIRES: ready() returned true. Returns false if the socket buffer is full and nothing of this frame
  /// was sent.
  Result<bool> send(ControlKind kind, uint64_t value);
  /// The next frame, if it has arrived completely. The end of the connection or an invalid frame is an error.
  Result<std::optional<ControlFrame>> receive();
  /// Whether bytes that count as sent are still here; receive() passes them on.
  bool unsent() const { return socket_.unsent(); }
  /// True if the peer's kernel has acknowledged everything that was sent.
  bool confirmed() const;
  const Socket& socket() const { return socket_.socket(); }

 private:
  std::optional<OutgoingConnection> outgoing_;  ///< until it is admitted
  PeerSocket socket_;
  Bytes unsent_;  ///< unsent bytes of a frame
  std::array<std::byte, 16 * sizeof(ControlFrame)> buffer_{};
  size_t begin_ = 0;
  size_t end_ = 0;
};

/// Collects the control connection that the sender opens.
class IncomingControl {
 public:
  /// `listener` and `events` outlive it.
  IncomingControl(Listener& listener, const DeliveryKey& key, const SocketEvents& events)
      : listener_(listener), key_(key), events_(events) {}

  /// The control connection if it has arrived and still works, else null.
  ControlConnection* connection();
  /// Uses another one from now on.
  void replace(ControlConnection connection) {
    connection_.emplace(std::move(connection));
    over_ = false;
  }
  /// Call it when the control connection broke.
  void drop() {
    connection_.reset();
    over_ = true;
  }

 private:
  Listener& listener_;
  const DeliveryKey key_;
  const SocketEvents& events_;
  std::optional<ControlConnection> connection_;
  bool over_ = false;
};

}  // namespace weir::tcp
