// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <poll.h>

#include "src/net/listener/inquiry.h"
#include "src/net/listener/listener_wire.h"
#include "src/net/socket.h"

namespace weir {
namespace {

using listener_wire::Hello;
using listener_wire::HelloKind;

constexpr int kMeanwhileMs = 20;

Bytes with_body(HelloKind kind, const DeliveryKey& key, BytesView body) {
  Bytes bytes = Hello{kind, static_cast<uint32_t>(body.size()), key}.encode();
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

}  // namespace

Inquiry::Inquiry(const SocketAddress& listener, uint64_t scope, BytesView question)
    : listener_(listener), request_(with_body(HelloKind::question, {.scope = scope}, question)) {
  auto socket = Socket::start_connect(listener);
  if (socket.ok()) {
    socket_ = std::move(*socket);
  } else {
    fail(socket.status());
  }
}

pollfd Inquiry::waits_for() const {
  return {socket_.fd(), static_cast<short>(!connected_ || sent_ < request_.size() ? POLLOUT : POLLIN), 0};
}

bool Inquiry::advance() {
  if (!done_ && !connected_) {
    auto ready = socket_.connected();
    if (!ready.ok()) {
      fail(ready.status());
    } else {
      connected_ = *ready;
    }
  }
  if (!done_ && connected_ && sent_ < request_.size()) {
    auto sent = socket_.try_send(BytesView(request_).subspan(sent_));
    if (!sent.ok()) {
      fail(sent.status());
    } else {
      sent_ += *sent;
    }
  }
  if (!done_ && sent_ == request_.size()) receive();
  return done_;
}

Answer Inquiry::take() {
  if (!done_) answer_.why = fmt::format("{} does not answer", listener_.text());
  return std::move(answer_);
}

void Inquiry::receive() {
  for (;;) {
    const std::span<std::byte> into = size_known_ ? std::span(answer_.bytes) : std::span(size_);
    auto received = socket_.try_recv(into.subspan(received_));
    if (!received.ok()) return fail(received.status());
    received_ += *received;
    if (received_ < into.size() && *received == 0) return;
    if (received_ < into.size()) continue;
    uint32_t size = 0;
    std::memcpy(&size, size_.data(), sizeof size);
    if (!size_known_ && size > Listener::kMostBytes) {
      return fail(Status(Code::remote_error,
                         fmt::format("{} is not the address of a process that uses weir", listener_.text())));
    }
    if (size_known_ || size == 0) break;
    size_known_ = true;
    received_ = 0;
    answer_.bytes.resize(size);
  }
  answer_.kind = Answer::Kind::given;
  finish();
}

/// A refused or broken connection means that the process has ended; an unreachable route does not, and what
/// this process lacks says nothing about it.
void Inquiry::fail(const Status& status) {
  answer_.bytes.clear();
  answer_.why = status.message();
  answer_.kind = status.is_shortage()                  ? Answer::Kind::unasked
                 : status.code() == Code::remote_error ? Answer::Kind::refused
                                                       : Answer::Kind::silent;
  finish();
}

void Inquiry::finish() {
  done_ = true;
  socket_.close();
}

Bytes delivery_hello(const DeliveryKey& key) { return Hello{HelloKind::delivery, 0, key}.encode(); }

Result<Socket> deliver(const SocketAddress& listener, const DeliveryKey& key, const Deadline& deadline) {
  auto socket = Socket::connect(listener, deadline);
  WEIR_TRY(socket.status());
  WEIR_TRY(socket->send_all(delivery_hello(key), deadline));
  return socket;
}

Status post(const SocketAddress& listener, const DeliveryKey& key, BytesView message,
            const Deadline& deadline, const std::function<Status()>& meanwhile) {
  if (message.size() > Listener::kMostBytes) {
    return Status(Code::invalid_argument,
                  fmt::format("a message of {} bytes is longer than a listener accepts ({})", message.size(),
                              Listener::kMostBytes));
  }
  auto socket = Socket::start_connect(listener);
  WEIR_TRY(socket.status());
  const Bytes bytes = with_body(HelloKind::message, key, message);
  size_t sent = 0;
  for (bool connected = false; !connected || sent < bytes.size();) {
    if (!connected) {
      auto ready = socket->connected();
      WEIR_TRY(ready.status());
      connected = *ready;
    }
    if (connected) {
      auto more = socket->try_send(BytesView(bytes).subspan(sent));
      WEIR_TRY(more.status());
      sent += *more;
      if (*more > 0) continue;
    }
    if (deadline.over())
      return Status(Code::remote_error, fmt::format("{} does not answer", listener.text()));
    if (!wait_for(socket->fd(), POLLOUT, deadline.within_ms(kMeanwhileMs)) && meanwhile)
      WEIR_TRY(meanwhile());
  }
  return {};
}

std::vector<Answer> ask_all(std::span<const SocketAddress> listeners, uint64_t scope, BytesView question,
                            const Deadline& deadline) {
  std::vector<std::unique_ptr<Inquiry>> inquiries;
  for (const SocketAddress& listener : listeners)
    inquiries.push_back(std::make_unique<Inquiry>(listener, scope, question));
  std::vector<pollfd> polls;
  std::vector<Inquiry*> open;
  for (;;) {
    polls.clear();
    open.clear();
    for (const auto& inquiry : inquiries) {
      if (inquiry->done()) continue;
      polls.push_back(inquiry->waits_for());
      open.push_back(inquiry.get());
    }
    if (open.empty() || deadline.over()) break;
    if (poll(polls.data(), polls.size(), deadline.slice_ms(kPollSliceMs)) <= 0) continue;
    for (size_t i = 0; i < open.size(); ++i) {
      if (polls[i].revents != 0) open[i]->advance();
    }
  }
  std::vector<Answer> answers;
  for (const auto& inquiry : inquiries) answers.push_back(inquiry->take());
  return answers;
}

Answer ask(const SocketAddress& listener, uint64_t scope, BytesView question, const Deadline& deadline) {
  return std::move(ask_all({&listener, 1}, scope, question, deadline).front());
}

}  // namespace weir
