// SPDX-License-Identifier: Apache-2.0

#include "src/net/listener/outgoing_connection.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/clock.h"
#include "src/net/advertised.h"
#include "src/net/peer_process.h"

namespace weir {
namespace {

using listener_wire::Decision;
using listener_wire::HelloKind;
using listener_wire::Opening;
using listener_wire::Verdict;

constexpr int64_t kFirstPauseNs = 2 * kNsPerMs;
constexpr int64_t kLongestPauseNs = 100 * kNsPerMs;

}  // namespace

OutgoingConnection::OutgoingConnection(Connect connect, const Request& request)
    : connect_(std::move(connect)), request_(request) {}

OutgoingConnection::OutgoingConnection(Connect connect, const DeliveryKey& key,
                                       const Credentials& credentials)
    : OutgoingConnection(std::move(connect), {HelloKind::delivery, key, credentials, 0}) {}

OutgoingConnection::OutgoingConnection(const SocketAddress& listener, const DeliveryKey& key,
                                       const Credentials& credentials)
    : OutgoingConnection(to(listener), key, credentials) {}

OutgoingConnection::Connect OutgoingConnection::to(const SocketAddress& listener,
                                                   const std::optional<SocketAddress>& from) {
  return [=]() -> Result<std::optional<Socket>> {
    auto socket = Socket::start_connect(own_address_of(listener), from);
    WEIR_TRY(socket.status());
    return std::optional<Socket>(std::move(*socket));
  };
}

Result<bool> OutgoingConnection::advance() {
  for (;;) {
    Result<bool> done = true;
    switch (stage_) {
      case Stage::unconnected: done = connect(); break;
      case Stage::connecting: done = finish_connecting(); break;
      case Stage::connected: done = answer_challenge(); break;
      case Stage::judged: done = hear_verdict(); break;
      case Stage::securing: done = secure(); break;
      case Stage::admitted: return true;
    }
    if (!done.ok() || !*done) return done;
  }
}

pollfd OutgoingConnection::waits_for() const {
  return {socket_.socket().fd(), socket_.events(stage_ == Stage::connecting ? POLLOUT : POLLIN), 0};
}

Result<bool> OutgoingConnection::connect() {
  if (again_ns_ > 0 && now_ns() < again_ns_) return false;
  auto socket = connect_();
  WEIR_TRY(socket.status());
  if (!socket->has_value()) return false;
  socket_ = PeerSocket(std::move(**socket));
  stage_ = Stage::connecting;
  return true;
}

Result<bool> OutgoingConnection::finish_connecting() {
  auto connected = socket_.socket().connected();
  if (!connected.ok() || !*connected) return connected;
  stage_ = Stage::connected;
  return true;
}

/// The listener of a process that has ended refuses the next attempt.
void OutgoingConnection::try_again() {
  socket_.close();
  received_ = 0;
  stage_ = Stage::unconnected;
  pause_ns_ = std::clamp(2 * pause_ns_, kFirstPauseNs, kLongestPauseNs);
  again_ns_ = now_ns() + pause_ns_;
}

Result<bool> OutgoingConnection::fill(size_t bytes) {
  const auto got = socket_.try_receive(std::span(in_).first(bytes).subspan(received_));
  if (!got.ok()) {
    if (got.status().code() != Code::remote_error) return got.status();
    try_again();
    return false;
  }
  received_ += *got;
  if (received_ < bytes) return false;
  received_ = 0;
  return true;
}

Status OutgoingConnection::not_weir() const {
  return Status(Code::remote_error,
                fmt::format("{} is not the address of a process that uses this version of weir",
                            peer_words(socket_.socket())));
}

Result<bool> OutgoingConnection::answer_challenge() {
  auto filled = fill(Opening::kBytes);
  if (!filled.ok() || !*filled) return filled;
  const auto opening = Opening::decode(std::span(in_).first(Opening::kBytes));
  if (!opening) return not_weir();
  const auto own = random_challenge();
  WEIR_TRY(own.status());
  hello_ = {request_.kind, request_.body, request_.key, *own, {}};
  if (request_.credentials) {
    const auto listener = socket_.socket().peer_address();
    if (!listener.ok()) {  // the connection has ended meanwhile
      try_again();
      return false;
    }
    hello_.prove(request_.credentials->secret, opening->challenge, *listener);
  }
  const auto sent = socket_.try_send(hello_.encode());
  stage_ = Stage::judged;
  if (!sent.ok() || *sent < listener_wire::Hello::kBytes) try_again();
  return stage_ == Stage::judged;
}

Result<bool> OutgoingConnection::hear_verdict() {
  auto filled = fill(Verdict::kBytes);
  if (!filled.ok() || !*filled) return filled;
  const auto verdict = Verdict::decode(std::span(in_).first(Verdict::kBytes));
  if (!verdict) return not_weir();
  if (verdict->decision == Decision::forbidden) {
    forbidden_ = true;
    return Status(Code::remote_error,
                  fmt::format("{} does not show its reports to this process (WEIR_REPORTS)",
                              peer_words(socket_.socket())));
  }
  if (verdict->decision != Decision::admitted) {
    return Status(Code::remote_error,
                  fmt::format("{} refuses: its process does not take part in this job, or has another secret",
                              peer_words(socket_.socket())));
  }
  if (request_.credentials && !verdict->is_proven(request_.credentials->secret, hello_)) {
    return Status(Code::remote_error,
                  fmt::format("{} is not a process of this job: it does not know its secret",
                              peer_words(socket_.socket())));
  }
  if (encrypts()) WEIR_TRY(socket_.secure(request_.credentials->tls, TlsRole::connects, hello_.proof));
  stage_ = Stage::securing;
  return true;
}

/// The last message of a handshake has to reach the kernel: whoever only receives then would not send it.
Result<bool> OutgoingConnection::secure() {
  const auto ready = socket_.ready();
  if (!ready.ok() || !*ready) return ready;
  const auto flushed = socket_.flush();
  if (!flushed.ok() || !*flushed) return flushed;
  stage_ = Stage::admitted;
  return true;
}

Result<PeerSocket> await_admission(OutgoingConnection& connection, const SocketAddress& listener,
                                   const Deadline& deadline, const std::function<Status()>& meanwhile) {
  for (;;) {
    const auto admitted = connection.advance();
    WEIR_TRY(admitted.status());
    if (*admitted) return connection.take();
    if (deadline.over())
      return Status(Code::remote_error, fmt::format("{} does not answer", listener.text()));
    pollfd entry = connection.waits_for();
    const int wait_ms = deadline.within_ms(kPollSliceMs).slice_ms(entry.fd < 0 ? 2 : kPollSliceMs);
    if (poll(&entry, 1, wait_ms) <= 0 && meanwhile) WEIR_TRY(meanwhile());
  }
}

}  // namespace weir
