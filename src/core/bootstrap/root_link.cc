// SPDX-License-Identifier: Apache-2.0

#include "src/core/bootstrap/root_link.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <thread>

#include "src/base/clock.h"
#include "src/core/diagnosis/watchdog.h"

namespace weir::core {
namespace {

using root_wire::Word;

std::string where(const UniqueId& id) {
  return id.fixed ? fmt::format("rank 0 at NCCL_COMM_ID={}", id.root.text())
                  : fmt::format("the process that made the unique id, at {}", id.root.text());
}

}  // namespace

RootLink::RootLink(Socket socket, const UniqueId& id, const Timeouts& timeouts,
                   const std::atomic<bool>* abort)
    : frames_(std::move(socket)),
      id_(id),
      timeouts_(timeouts),
      abort_(abort),
      heard_ns_(now_ns()),
      served_ns_(heard_ns_) {}

Result<std::unique_ptr<RootLink>> RootLink::try_open(const UniqueId& id, const root_wire::Hello& hello,
                                                     const Timeouts& timeouts, const Deadline& deadline,
                                                     bool& told) {
  auto socket = Socket::connect(id.root, deadline.within_ms(timeouts.peer_ms));
  if (!socket.ok()) {
    const std::string_view perhaps =
        id.fixed ? "" : "; it has ended, or this id has served a communicator already";
    return Status(socket.status().code(),
                  fmt::format("{}{} cannot be reached: {}{}", where(id), id.fixed ? "" : ",",
                              socket.status().message(), perhaps));
  }
  std::unique_ptr<RootLink> link(new RootLink(std::move(*socket), id, timeouts, deadline.abort_flag()));
  link->frames_.send(hello.encode());
  while (!link->welcome_) {
    const Status served = link->serve(20);
    told = link->told_;
    WEIR_TRY(served);
  }
  return link;
}

Result<std::unique_ptr<RootLink>> RootLink::open(const UniqueId& id, const root_wire::Hello& hello,
                                                 const Timeouts& timeouts, const std::atomic<bool>* abort) {
  const Deadline deadline = Deadline::in_ms(id.fixed ? timeouts.init_ms : timeouts.peer_ms, abort);
  for (int64_t pause_ms = 2;; pause_ms = std::min<int64_t>(pause_ms * 2, 100)) {
    bool told = false;
    auto link = try_open(id, hello, timeouts, deadline, told);
    const Code code = link.status().code();
    const bool nobody_there = !told && (code == Code::remote_error || code == Code::system_error);
    if (!nobody_there || !id.fixed || deadline.aborted() || deadline.over()) return link;
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
  }
}

Status RootLink::serve(int wait_ms) {
  if (abort_ != nullptr && abort_->load())
    return Status(Code::invalid_usage, "the communicator was aborted while its ranks were joining");
  pollfd entry{frames_.socket().fd(), static_cast<short>(frames_.flushed() ? POLLIN : POLLIN | POLLOUT), 0};
  poll(&entry, 1, wait_ms);
  const Status connection = frames_.receive();
  const int64_t now = now_ns();
  if (const int64_t pause = now - served_ns_; pause > kStallNs) heard_ns_ += pause;
  served_ns_ = now;
  WEIR_TRY(take_in());
  frames_.flush();
  if (!connection.ok()) {
    return Status(Code::remote_error,
                  welcome_ ? fmt::format("{}, ended while the ranks were joining there", where(id_))
                           : fmt::format("{}, closed the connection before it answered", where(id_)));
  }
  if (now - heard_ns_ > root_wire::silence_ms(timeouts_) * kNsPerMs) {
    return Status(Code::remote_error,
                  fmt::format("{}, has not answered for {:.1f} s: it is stopped or out of reach{}",
                              where(id_), static_cast<double>(now - heard_ns_) / 1e9,
                              welcome_ ? "" : ", or not a process of weir"));
  }
  return {};
}

Status RootLink::take_in() {
  while (const auto frame = frames_.next()) {
    heard_ns_ = served_ns_;
    switch (root_wire::word_of(*frame)) {
      case Word::ping:
        welcome_ = true;
        frames_.send(root_wire::say(Word::alive));
        break;
      case Word::listeners: listeners_ = root_wire::Listeners::decode(*frame); break;
      case Word::failed: told_ = true; return root_wire::decode_failed(*frame);
      default: break;  // unknown words come from a later version and may be ignored
    }
  }
  return {};
}

void RootLink::leave(const Status& status) {
  frames_.send(status.ok() ? root_wire::say(Word::done) : root_wire::encode_failed(status));
  // Closing a socket with unread data resets the connection, and a lost last frame would not be
  // retransmitted.
  (void)frames_.receive();
  frames_.close();
}

}  // namespace weir::core
