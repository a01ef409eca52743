// SPDX-License-Identifier: Apache-2.0

#include "transports/setup_connection.h"

#include <fmt/format.h>

#include <array>

namespace weir {

void SetupConnection::put(FrameKind kind, BytesView payload) {
  const FrameHead head{.kind = kind, .bytes = static_cast<uint32_t>(payload.size())};
  const BytesView bytes = raw(head);
  out_.insert(out_.end(), bytes.begin(), bytes.end());
  out_.insert(out_.end(), payload.begin(), payload.end());
}

void SetupConnection::serve() {
  if (!open() || !ended_.empty()) return;
  if (outgoing_) {
    const Result<bool> admitted = outgoing_->advance();
    if (!admitted.ok()) ended_ = admitted.status().message();
    if (!admitted.ok() || !*admitted) return;
    socket_ = outgoing_->take();
    outgoing_.reset();
  }
  if (!out_.empty() || socket_.unsent()) {
    const Result<size_t> sent = socket_.try_send(out_);
    if (sent.ok()) out_.erase(out_.begin(), out_.begin() + static_cast<ptrdiff_t>(*sent));
    // Keep receiving: frames that the peer sent before it closed are still unread.
    if (!sent.ok()) out_.clear();
  }
  std::array<std::byte, 1024> buffer;
  while (in_.size() < 2 * kMostBytes) {
    const Result<size_t> got = socket_.try_receive(buffer);
    if (!got.ok()) ended_ = got.status().message();
    if (!got.ok() || *got == 0) return;
    in_.insert(in_.end(), buffer.begin(), buffer.begin() + static_cast<ptrdiff_t>(*got));
  }
}

std::optional<Bytes> SetupConnection::take(FrameKind kind) {
  FrameHead head;
  if (in_.size() < sizeof(head)) return std::nullopt;
  std::memcpy(&head, in_.data(), sizeof(head));
  if (head.magic != FrameHead::kMagic || head.kind != kind || head.bytes > kMostBytes) {
    ended_ = fmt::format("it sent a frame of kind {}; expected kind {}", static_cast<uint32_t>(head.kind),
                         static_cast<uint32_t>(kind));
    in_.clear();
    return std::nullopt;
  }
  if (in_.size() < sizeof(head) + head.bytes) return std::nullopt;
  const auto begin = in_.begin() + sizeof(head);
  Bytes payload(begin, begin + head.bytes);
  in_.erase(in_.begin(), begin + head.bytes);
  return payload;
}

std::optional<FrameKind> SetupConnection::next() const {
  FrameHead head;
  if (in_.size() < sizeof(head)) return std::nullopt;
  std::memcpy(&head, in_.data(), sizeof(head));
  const bool whole =
      head.magic == FrameHead::kMagic && head.bytes <= kMostBytes && in_.size() - sizeof(head) >= head.bytes;
  return whole ? std::optional(head.kind) : std::nullopt;
}

}  // namespace weir
