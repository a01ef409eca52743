// SPDX-License-Identifier: Apache-2.0

#include "src/net/listener/message_connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "src/net/listener/listener_wire.h"
#include "src/net/listener/outgoing_connection.h"

namespace weir {
namespace {

using listener_wire::HelloKind;
using listener_wire::MessageHeader;

constexpr size_t kMostEarly = 16 << 10;  ///< bytes of a message that go with its hello or header

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
  const BytesView early = message.first(std::min(message.size(), kMostEarly));
  const auto bytes = static_cast<uint32_t>(message.size());
  if (!socket_.valid()) {
    OutgoingConnection connection(OutgoingConnection::to(listener_),
                                  {HelloKind::message, key, secret_, bytes, early});
    auto admitted = await_admission(connection, listener_, deadline, meanwhile);
    WEIR_TRY(admitted.status());
    socket_ = std::move(*admitted);
    return send_rest(message.subspan(connection.early_sent()), deadline, meanwhile);
  }
  // The listener says nothing more: an error here is that it has closed the connection.
  std::array<std::byte, 1> nothing;
  WEIR_TRY(socket_.try_recv(nothing).status());
  Bytes begin = MessageHeader{bytes, key}.encode();
  begin.insert(begin.end(), early.begin(), early.end());
  WEIR_TRY(send_rest(begin, deadline, meanwhile));
  return send_rest(message.subspan(early.size()), deadline, meanwhile);
}

Status MessageConnection::send_rest(BytesView rest, const Deadline& deadline,
                                    const std::function<Status()>& meanwhile) const {
  while (!rest.empty()) {
    const auto sent = socket_.try_send(rest);
    WEIR_TRY(sent.status());
    rest = rest.subspan(*sent);
    if (*sent > 0) continue;
    if (deadline.over())
      return Status(Code::remote_error, fmt::format("{} does not answer", listener_.text()));
    if (!wait_for(socket_.fd(), POLLOUT, deadline.within_ms(kPollSliceMs)) && meanwhile)
      WEIR_TRY(meanwhile());
  }
  return {};
}

/// A forked child has a copy of the descriptor, so that closing this one alone would not end the connection.
void MessageConnection::close() {
  if (socket_.valid()) shutdown(socket_.fd(), SHUT_WR);
  socket_.close();
}

Status MessageConnections::send(const SocketAddress& listener, const DeliveryKey& key, BytesView message,
                                const Deadline& deadline, const std::function<Status()>& meanwhile) {
  auto at = std::ranges::find(open_, listener, &MessageConnection::listener);
  if (at == open_.end()) at = open_.emplace(at, listener, secret_);
  return at->send(key, message, deadline, meanwhile);
}

}  // namespace weir
