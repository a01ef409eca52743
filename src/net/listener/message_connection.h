// SPDX-License-Identifier: Apache-2.0
/// A connection over which a process sends messages to one listener, one after the other.
///
/// It is opened by the first message, and proves then that this process has the secret; further messages only
/// have a small header. It stays open until its owner closes it.
///
/// What is promised: messages arrive in order, and each once. A message whose send() has succeeded is lost
/// only if the other process ends, or has no memory for it. It resets the connection then, and the next
/// send() is an error, unless a child that it has forked keeps the connection open. A listener with thousands
/// of connections ends some that have no message under way; the next send() opens a new one. Whoever needs to
/// know that its last message has arrived waits for an answer.
///
/// Not thread-safe. A forked child must not use it, nor destroy it: that would end the connection of its
/// parent.
/// Tests: tests/net/message_connection_test.cc
#pragma once

#include <functional>
#include <list>

#include "src/base/clock.h"
#include "src/base/status.h"
#include "src/net/listener/listener.h"
#include "src/net/tls/credentials.h"
#include "src/net/tls/peer_socket.h"

namespace weir {

class MessageConnection {
 public:
  /// Does not connect yet.
  MessageConnection(const SocketAddress& listener, const Credentials& credentials)
      : listener_(listener), credentials_(credentials) {}
  MessageConnection(const MessageConnection&) = delete;
  MessageConnection& operator=(const MessageConnection&) = delete;
  ~MessageConnection() { close(); }

  const SocketAddress& listener() const { return listener_; }
  /// Sends a message. Success means that it was sent, not that it was collected. `meanwhile`, if any, is
  /// called about every 20 ms while the listener does not accept it; an error of `meanwhile` ends the attempt
  /// and is returned.
  ///
  /// Errors: invalid_argument if the message is too long; those of OutgoingConnection; remote_error if the
  /// listener has dropped a message before this one or accepts nothing until `deadline`. After an error the
  /// next message begins a new connection. REQUIRES: all messages are of one job.
  Status send(const DeliveryKey& key, BytesView message, const Deadline& deadline,
              const std::function<Status()>& meanwhile = {});
  /// Sends a small message if that is possible at once, over the connection that is open.
  void send_if_open(const DeliveryKey& key, BytesView message);
  /// The listener gets what was sent before.
  void close();

 private:
  Status try_send(const DeliveryKey& key, BytesView message, const Deadline& deadline,
                  const std::function<Status()>& meanwhile);
  Result<bool> is_usable();
  Status send_all(BytesView rest, const Deadline& deadline, const std::function<Status()>& meanwhile);

  SocketAddress listener_;
  Credentials credentials_;
  PeerSocket socket_;
};

/// The connections to the listeners to which a rank sends messages: a few, each opened when it is first
/// needed. Not thread-safe; as for forked children, see above.
class MessageConnections {
 public:
  explicit MessageConnections(const Credentials& credentials) : credentials_(credentials) {}

  /// As MessageConnection::send().
  Status send(const SocketAddress& listener, const DeliveryKey& key, BytesView message,
              const Deadline& deadline, const std::function<Status()>& meanwhile = {});
  /// As MessageConnection::send_if_open().
  void send_if_open(const SocketAddress& listener, const DeliveryKey& key, BytesView message);
  /// Closes all but the one to `listener`.
  void close_others(const SocketAddress& listener) {
    open_.remove_if([&](const MessageConnection& one) { return one.listener() != listener; });
  }
  /// Closes all of them. Later messages open new ones.
  void close() { open_.clear(); }

 private:
  Credentials credentials_;
  std::list<MessageConnection> open_;
};

}  // namespace weir
