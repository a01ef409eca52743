// SPDX-License-Identifier: Apache-2.0
/// The control connection of a path of a tcp channel: a connection of its own for small frames in both
/// directions, which say how the channel goes on. For the files of this folder only.
///
/// The sender opens it beside its streams, which stay one-directional: closing a socket with unread bytes
/// resets it and destroys what is under way, so nothing must come back on a stream. What is lost on the
/// control connection when either end closes is of no use to anybody any more.
///
/// Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "src/net/listener/listener.h"
#include "src/net/socket.h"
#include "transports/tcp/wire.h"
#include "weir/status.h"

namespace weir::tcp {

enum class ControlKind : uint32_t {
  credit = 1,     ///< receiver to sender: payload bytes that may be sent on the path, since the channel began
  announced = 2,  ///< sender to receiver: payload bytes that are to be sent on the path, since it began
  arrived = 3,    ///< receiver to sender: an Arrived, as one number
  gone = 4,       ///< sender to receiver: streams that bring nothing any more, one bit each
  ping = 5,       ///< sender to receiver: nothing; only the peer's kernel is to answer
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
  /// The sender's: `socket` is on its way to the peer's listener, where it is delivered under `key`.
  ControlConnection(Socket socket, const DeliveryKey& key)
      : socket_(std::move(socket)), unsent_(delivery_hello(key)) {}
  /// The receiver's, from the listener.
  explicit ControlConnection(Socket socket) : socket_(std::move(socket)), connected_(true) {}

  /// True once it works from here. Never blocks.
  Result<bool> ready();
  /// REQUIRES: ready() was true. False: the kernel has no room; nothing of this frame was sent.
  Result<bool> send(ControlKind kind, uint64_t value);
  /// The next frame, if a whole one has come. The end of the connection, or what is no frame, is an error.
  Result<std::optional<ControlFrame>> receive();
  /// True if the peer's kernel has all that was sent.
  bool confirmed() const;

 private:
  Socket socket_;
  bool connected_ = false;
  Bytes unsent_;  ///< the hello, or the rest of a frame
  std::array<std::byte, 16 * sizeof(ControlFrame)> buffer_{};
  size_t begin_ = 0;
  size_t end_ = 0;
};

/// Where the receiver finds the control connection that the sender has opened to it.
class IncomingControl {
 public:
  /// `listener` outlives it.
  IncomingControl(Listener& listener, const DeliveryKey& key) : listener_(listener), key_(key) {}

  /// The control connection, if it has come and still works.
  ControlConnection* connection();
  /// The control connection broke.
  void drop() {
    connection_.reset();
    over_ = true;
  }

 private:
  Listener& listener_;
  const DeliveryKey key_;
  std::optional<ControlConnection> connection_;
  bool over_ = false;
};

}  // namespace weir::tcp
