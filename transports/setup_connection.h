// SPDX-License-Identifier: Apache-2.0
/// The connection between the two ends of a channel whose bytes travel elsewhere: sets the channel up, and
/// tells when the other end is gone. The sender delivers it at the receiver's listener; from then on frames
/// travel.
///
/// Not thread-safe. Nothing blocks.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include "src/base/bytes.h"
#include "src/net/socket.h"

namespace weir {

enum class FrameKind : uint32_t { offer = 1, answer, go, fin };

struct FrameHead {
  static constexpr uint32_t kMagic = 0x6c696e65;

  uint32_t magic = kMagic;
  FrameKind kind = FrameKind::offer;
  uint32_t bytes = 0;  ///< that follow
};

class SetupConnection {
 public:
  static constexpr uint32_t kMostBytes = 1u << 16;  ///< of a frame

  SetupConnection() = default;
  /// The sender's side: still connecting, and `first` goes out before all frames.
  SetupConnection(Socket socket, Bytes first)
      : socket_(std::move(socket)), out_(std::move(first)), connected_(false) {}
  /// The receiver's side.
  explicit SetupConnection(Socket socket) : socket_(std::move(socket)) {}

  bool open() const { return socket_.valid(); }
  void put(FrameKind kind, BytesView payload);
  /// Sends and receives what goes at once. Never blocks.
  void serve();
  /// The payload of the next frame, if it has come and is of this kind. Another kind ends the connection.
  std::optional<Bytes> take(FrameKind kind);
  bool sent() const { return connected_ && out_.empty(); }
  /// Why nothing more comes; empty while more may come. What came before may still be taken.
  const std::string& ended() const { return ended_; }

 private:
  Socket socket_;
  Bytes out_;
  Bytes in_;
  bool connected_ = true;
  std::string ended_;
};

/// A trivially copyable value as bytes of a frame, and back from its begin; false where it is too short.
template <typename T>
BytesView raw(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace weir
