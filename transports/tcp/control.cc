// SPDX-License-Identifier: Apache-2.0

#include "transports/tcp/control.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <cstring>

namespace weir::tcp {

Result<bool> ControlConnection::ready() {
  if (outgoing_) {
    const Result<bool> admitted = outgoing_->advance();
    if (!admitted.ok() || !*admitted) return admitted;
    socket_ = outgoing_->take();
    outgoing_.reset();
  }
  const Result<size_t> sent = socket_.try_send(unsent_);
  WEIR_TRY(sent.status());
  unsent_.erase(unsent_.begin(), unsent_.begin() + static_cast<ptrdiff_t>(*sent));
  return unsent_.empty();
}

Result<bool> ControlConnection::send(ControlKind kind, uint64_t value) {
  const Result<bool> free = ready();
  WEIR_TRY(free.status());
  if (!*free) return false;
  const ControlFrame frame = {.kind = kind, .value = value};
  const BytesView raw = std::as_bytes(std::span(&frame, 1));
  const Result<size_t> sent = socket_.try_send(raw);
  WEIR_TRY(sent.status());
  if (*sent > 0) unsent_.assign(raw.begin() + static_cast<ptrdiff_t>(*sent), raw.end());
  return *sent > 0;
}

bool ControlConnection::confirmed() const {
  int under_way = 0;
  return unsent_.empty() && !socket_.unsent() && ioctl(socket_.socket().fd(), SIOCOUTQ, &under_way) == 0 &&
         under_way == 0;
}

Result<std::optional<ControlFrame>> ControlConnection::receive() {
  if (end_ - begin_ < sizeof(ControlFrame)) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    const Result<size_t> got = socket_.try_receive(std::span(buffer_).subspan(end_));
    WEIR_TRY(got.status());
    end_ += *got;
    if (end_ < sizeof(ControlFrame)) return std::optional<ControlFrame>();
  }
  ControlFrame frame;
  std::memcpy(&frame, buffer_.data() + begin_, sizeof frame);
  begin_ += sizeof frame;
  if (frame.magic != kControlMagic)
    return Status(Code::remote_error, "the control connection received an invalid frame");
  return std::optional(frame);
}

ControlConnection* IncomingControl::connection() {
  if (!connection_ && !over_) {
    if (auto socket = listener_.collect(key_)) {
      events_.watch(socket->socket());
      connection_.emplace(std::move(*socket));
    }
  }
  return connection_ ? &*connection_ : nullptr;
}

}  // namespace weir::tcp
