// SPDX-License-Identifier: Apache-2.0

#include "src/net/tls/peer_socket.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

namespace weir {
namespace {

iovec part_of(BytesView bytes) { return {const_cast<std::byte*>(bytes.data()), bytes.size()}; }

size_t size_of(std::span<const iovec> parts) {
  size_t total = 0;
  for (const iovec& part : parts) total += part.iov_len;
  return total;
}

msghdr message_of(std::span<const iovec> parts) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts.data());
  message.msg_iovlen = parts.size();
  return message;
}

Status lost(const Socket& socket, const char* what, int error) {
  return {Code::remote_error,
          fmt::format("cannot {} {}: {}", what, socket.peer_text(), std::generic_category().message(error))};
}

Result<size_t> send_plain(const Socket& socket, std::span<const iovec> parts) {
  const msghdr message = message_of(parts);
  const ssize_t sent = sendmsg(socket.fd(), &message, MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<size_t>(sent);
  return would_block(errno) ? Result<size_t>(size_t{0}) : lost(socket, "send to", errno);
}

Result<size_t> receive_plain(const Socket& socket, std::span<const iovec> parts) {
  msghdr message = message_of(parts);
  const ssize_t got = recvmsg(socket.fd(), &message, 0);
  if (got > 0) return static_cast<size_t>(got);
  if (got < 0) return would_block(errno) ? Result<size_t>(size_t{0}) : lost(socket, "receive from", errno);
  return Status(Code::remote_error,
                fmt::format("the connection to {} was closed by the other side", socket.peer_text()));
}

Status said_more(const Socket& socket) {
  return {Code::remote_error, fmt::format("{} has sent what nobody expects", socket.peer_text())};
}

/// A reset may come behind an end, which then was none in order.
Result<bool> plain_ended(const Socket& socket) {
  char nothing = 0;
  const ssize_t got = recv(socket.fd(), &nothing, sizeof nothing, 0);
  if (got > 0) return said_more(socket);
  if (got < 0) return would_block(errno) ? Result<bool>(false) : lost(socket, "receive from", errno);
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? Result<bool>(true) : lost(socket, "receive from", error);
}

Result<size_t> receive_encrypted(TlsSession& session, std::span<const iovec> parts) {
  size_t total = 0;
  for (const iovec& part : parts) {
    const auto got = session.try_receive(std::span(static_cast<std::byte*>(part.iov_base), part.iov_len));
    if (!got.ok() && total == 0) return got.status();
    if (!got.ok()) break;
    total += *got;
    if (*got < part.iov_len) break;
  }
  return total;
}

/// Waits for an event, or for nothing if received bytes are there.
Status wait_once(PeerSocket& socket, short wanted, const char* what, const Deadline& deadline) {
  if ((wanted & POLLIN) != 0 && socket.pending()) return {};
  if (wait_for(socket.socket().fd(), socket.events(wanted), deadline)) return {};
  const std::string peer = socket.socket().peer_text();
  if (deadline.aborted())
    return {Code::invalid_usage, fmt::format("aborted while waiting to {} {}", what, peer)};
  return {Code::remote_error, fmt::format("no answer in time while waiting to {} {}", what, peer)};
}

}  // namespace

void PeerSocket::close() {
  session_.reset();
  plain_.close();
}

void PeerSocket::reset() {
  if (!valid()) return;
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(socket().fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  if (session_ != nullptr) session_->abandon();
  close();
}

Result<bool> PeerSocket::ended() {
  if (session_ == nullptr) return plain_ended(plain_);
  std::byte nothing{};
  const auto got = try_receive(std::span(&nothing, 1));
  if (!got.ok() && !session_->ended()) return got.status();
  if (!got.ok()) {  // what was sent after the end is answered with a reset
    const auto plain = plain_ended(socket());
    return plain.ok() ? Result<bool>(true) : plain.status();
  }
  return *got == 0 ? Result<bool>(false) : said_more(socket());
}

Status PeerSocket::secure(std::shared_ptr<const TlsContext> context, TlsRole role, BytesView binding) {
  auto session = TlsSession::begin(std::move(context), std::move(plain_), role, binding);
  WEIR_TRY(session.status());
  session_ = std::move(*session);
  return {};
}

Result<bool> PeerSocket::ready() {
  if (session_ == nullptr) return true;
  const auto done = session_->handshake();
  WEIR_TRY(done.status());
  return *done;
}

Result<size_t> PeerSocket::try_send(std::span<const iovec> parts) {
  if (session_ != nullptr) return session_->try_send(parts);
  return size_of(parts) == 0 ? Result<size_t>(size_t{0}) : send_plain(plain_, parts);
}

Result<size_t> PeerSocket::try_send(BytesView bytes) {
  const iovec part = part_of(bytes);
  return try_send(std::span(&part, 1));
}

Result<size_t> PeerSocket::try_receive(std::span<const iovec> parts) {
  if (session_ != nullptr) return receive_encrypted(*session_, parts);
  return size_of(parts) == 0 ? Result<size_t>(size_t{0}) : receive_plain(plain_, parts);
}

Result<size_t> PeerSocket::try_receive(std::span<std::byte> into) {
  const iovec part = part_of(into);
  return try_receive(std::span(&part, 1));
}

Result<bool> PeerSocket::flush() { return session_ == nullptr ? Result<bool>(true) : session_->flush(); }

short PeerSocket::events(short wanted) const {
  return session_ == nullptr ? wanted : static_cast<short>(wanted | session_->events());
}

Status wait_ready(PeerSocket& socket, const Deadline& deadline) {
  for (;;) {
    const auto done = socket.ready();
    WEIR_TRY(done.status());
    // The last message of the handshake may still be here, and the other side waits for it.
    if (*done && !socket.unsent()) return {};
    WEIR_TRY(wait_once(socket, 0, "agree on keys with", deadline));
    WEIR_TRY(socket.flush().status());
  }
}

Status send_all(PeerSocket& socket, BytesView bytes, const Deadline& deadline) {
  for (;;) {
    const auto sent = socket.try_send(bytes);
    WEIR_TRY(sent.status());
    bytes = bytes.subspan(*sent);
    if (bytes.empty() && !socket.unsent()) return {};
    if (*sent == 0 || bytes.empty()) {
      const auto ready = socket.ready();
      WEIR_TRY(ready.status());
      // Before the end of the handshake the socket is writable all the time, and nothing may be written.
      WEIR_TRY(wait_once(socket, *ready ? POLLOUT : 0, "send to", deadline));
    }
    WEIR_TRY(socket.flush().status());
  }
}

Status receive_all(PeerSocket& socket, std::span<std::byte> into, const Deadline& deadline) {
  while (!into.empty()) {
    const auto got = socket.try_receive(into);
    WEIR_TRY(got.status());
    into = into.subspan(*got);
    if (!into.empty() && *got == 0) WEIR_TRY(wait_once(socket, POLLIN, "receive from", deadline));
  }
  return {};
}

}  // namespace weir
