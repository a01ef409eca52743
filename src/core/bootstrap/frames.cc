// SPDX-License-Identifier: Apache-2.0

#include "src/core/bootstrap/frames.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>

namespace weir::core {

Status Frames::receive() {
  std::array<std::byte, 4096> chunk;
  const size_t most = sizeof(uint32_t) + most_bytes_;
  while (in_.size() < most) {
    auto received = socket_.try_receive(std::span(chunk).first(std::min(chunk.size(), most - in_.size())));
    WEIR_TRY(received.status());
    if (*received == 0) return {};
    in_.insert(in_.end(), chunk.begin(), chunk.begin() + static_cast<ptrdiff_t>(*received));
    if (in_.size() >= sizeof(uint32_t) && ByteReader(in_).get<uint32_t>() > most_bytes_) {
      return Status(Code::remote_error,
                    fmt::format("{} does not speak weir's protocol", socket().peer_text()));
    }
  }
  return {};
}

/// During a handshake the socket is writable all the time, and nothing may be written.
short Frames::events() const { return socket_.events(flushed() || !ready() ? POLLIN : POLLIN | POLLOUT); }

Status Frames::secure(std::shared_ptr<const TlsContext> context, TlsRole role, BytesView binding) {
  if (!in_.empty() || !out_.empty()) {
    return Status(Code::remote_error,
                  fmt::format("{} does not begin to encrypt where it should", socket().peer_text()));
  }
  WEIR_TRY(socket_.secure(std::move(context), role, binding));
  // Who connects speaks first; the other side learns of failures where it reads.
  return role == TlsRole::connects ? socket_.ready().status() : Status();
}

std::optional<Bytes> Frames::next() {
  ByteReader reader(in_);
  Bytes frame = reader.get_bytes();
  if (!reader.ok()) return std::nullopt;
  in_.erase(in_.begin(), in_.end() - static_cast<ptrdiff_t>(reader.remaining()));
  return frame;
}

void Frames::send(BytesView frame) {
  const Bytes framed = ByteWriter().put_bytes(frame).take();
  out_.insert(out_.end(), framed.begin(), framed.end());
  flush();
}

void Frames::flush() {
  if (flushed()) return;
  auto sent = socket_.try_send(out_);
  if (sent.ok()) {
    out_.erase(out_.begin(), out_.begin() + static_cast<ptrdiff_t>(*sent));
  } else {
    out_.clear();
  }
}

}  // namespace weir::core
