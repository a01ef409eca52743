// SPDX-License-Identifier: Apache-2.0

#include "src/net/listener/message_connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

#include "src/net/listener/listener_wire.h"
#include "src/net/listener/outgoing_connection.h"

namespace weir {
namespace {

using listener_wire::HelloKind;
using listener_wire::MessageHeader;

constexpr size_t kMostTogether = 16 << 10;  ///< bytes of a message that go with its header

}  // namespace

Status MessageConnection::send(const DeliveryKey& key, BytesView message, const Deadline& deadline,
                               const std::function<Status()>& meanwhile) {
  if (message.size() > Listener::kMostBytes) {
    return Status(Code::invalid_argument,
                  fmt::format("a message of {} bytes is longer than a listener accepts ({})", message.size(),
                              Listener::kMostBytes));
  }
  Status sent = try_send(key, message, deadline, meanwhile);
  if (!sent.ok()) close();  // the listener may have got half of the message
  return sent;
}

Status MessageConnection::try_send(const DeliveryKey& key, BytesView message, const Deadline& deadline,
                                   const std::function<Status()>& meanwhile) {
  const auto bytes = static_cast<uint32_t>(message.size());
  const auto usable = is_usable();
  WEIR_TRY(usable.status());
  if (!*usable) {
    OutgoingConnection connection(OutgoingConnection::to(listener_),
                                  {HelloKind::message, key, credentials_, bytes});
    auto admitted = await_admission(connection, listener_, deadline, meanwhile);
    WEIR_TRY(admitted.status());
    socket_ = std::move(*admitted);
    return send_all(message, deadline, meanwhile);
  }
  const BytesView begin = message.first(std::min(message.size(), kMostTogether));
  Bytes headed = MessageHeader{bytes, key}.encode();
  headed.insert(headed.end(), begin.begin(), begin.end());
  WEIR_TRY(send_all(headed, deadline, meanwhile));
  return send_all(message.subspan(begin.size()), deadline, meanwhile);
}

/// False: there is no connection, or the listener has ended it with all messages taken. It says nothing more
/// on a connection; when it drops a message it resets the connection, as the kernel does when a message comes
/// after the end.
Result<bool> MessageConnection::is_usable() {
  if (!socket_.valid()) return false;
  const auto ended = socket_.ended();
  if (ended.ok()) return !*ended;
  return Status(Code::remote_error,
                fmt::format("{} has dropped a message: its process has ended, or has no memory for it",
                            listener_.text()));
}

Status MessageConnection::send_all(BytesView rest, const Deadline& deadline,
                                   const std::function<Status()>& meanwhile) {
  while (!rest.empty() || socket_.unsent()) {
    const auto sent = socket_.try_send(rest);
    WEIR_TRY(sent.status());
    rest = rest.subspan(*sent);
    if (*sent > 0) continue;
    if (deadline.over())
      return Status(Code::remote_error, fmt::format("{} does not answer", listener_.text()));
    if (!wait_for(socket_.socket().fd(), POLLOUT, deadline.within_ms(kPollSliceMs)) && meanwhile)
      WEIR_TRY(meanwhile());
  }
  return {};
}

void MessageConnection::send_if_open(const DeliveryKey& key, BytesView message) {
  const auto usable = is_usable();
  if (usable.ok() && *usable) (void)send(key, message, Deadline::in_ms(0));
}

/// A forked child has a copy of the descriptor, so that closing this one alone would not end the connection.
void MessageConnection::close() {
  const bool plain = socket_.valid() && !socket_.is_secured();  // TLS says that it ends
  if (plain) shutdown(socket_.socket().fd(), SHUT_WR);
  socket_.close();
}

void MessageConnections::send_if_open(const SocketAddress& listener, const DeliveryKey& key,
                                      BytesView message) {
  const auto at = std::ranges::find(open_, listener, &MessageConnection::listener);
  if (at != open_.end()) at->send_if_open(key, message);
}

Status MessageConnections::send(const SocketAddress& listener, const DeliveryKey& key, BytesView message,
                                const Deadline& deadline, const std::function<Status()>& meanwhile) {
  auto at = std::ranges::find(open_, listener, &MessageConnection::listener);
  if (at == open_.end()) at = open_.emplace(at, listener, credentials_);
  return at->send(key, message, deadline, meanwhile);
}

}  // namespace weir
