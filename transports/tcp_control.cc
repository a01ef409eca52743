#include "transports/tcp_control.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <cstring>

namespace weir::tcp {

Result<bool> ControlLine::ready() {
  if (!connected_) {
    const Result<bool> connected = socket_.connected();
    WEIR_TRY(connected.status());
    if (!*connected) return false;
    connected_ = true;
  }
  const Result<size_t> sent = socket_.try_send(unsent_);
  WEIR_TRY(sent.status());
  unsent_.erase(unsent_.begin(), unsent_.begin() + static_cast<ptrdiff_t>(*sent));
  return unsent_.empty();
}

Result<bool> ControlLine::send(ControlKind kind, uint64_t value) {
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

bool ControlLine::confirmed() const {
  int under_way = 0;
  return unsent_.empty() && ioctl(socket_.fd(), SIOCOUTQ, &under_way) == 0 && under_way == 0;
}

/// True once so many bytes are in the buffer.
Result<bool> ControlLine::read_more(size_t wanted) {
  if (end_ - begin_ >= wanted) return true;
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  const Result<size_t> got = socket_.try_recv(std::span(buffer_).subspan(end_));
  WEIR_TRY(got.status());
  end_ += *got;
  return end_ >= wanted;
}

Result<std::optional<ControlFrame>> ControlLine::receive() {
  const Result<bool> whole = read_more(sizeof(ControlFrame));
  WEIR_TRY(whole.status());
  if (!*whole) return std::optional<ControlFrame>();
  ControlFrame frame;
  std::memcpy(&frame, buffer_.data() + begin_, sizeof frame);
  begin_ += sizeof frame;
  if (frame.magic != kControlMagic)
    return Status(Code::remote_error, "the control line brought something that is no control frame");
  return std::optional(frame);
}

Result<std::optional<Greeting>> ControlLine::receive_greeting() {
  const Result<bool> whole = read_more(sizeof(Greeting));
  WEIR_TRY(whole.status());
  if (!*whole) return std::optional<Greeting>();
  Greeting greeting;
  std::memcpy(&greeting, buffer_.data() + begin_, sizeof greeting);
  begin_ += sizeof greeting;
  if (greeting.magic != kGreetingMagic)
    return Status(Code::remote_error, "the control line began with an unknown greeting");
  return std::optional(greeting);
}

ControlLine* ControlListener::line(int64_t life) {
  if (line_ && life_ == life) return &*line_;
  if (life_ > life) return nullptr;  // of a life that begins later
  if (!line_ || life_ != 0) {
    auto socket = door_.collect(key_);
    if (!socket) return nullptr;
    line_.emplace(std::move(*socket));
    life_ = 0;
  }
  const auto greeting = line_->receive_greeting();
  if (!greeting.ok()) drop();
  if (!greeting.ok() || !*greeting) return nullptr;
  life_ = (*greeting)->life;
  return life_ == life ? &*line_ : nullptr;
}

}  // namespace weir::tcp
