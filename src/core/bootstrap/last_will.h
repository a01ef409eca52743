// SPDX-License-Identifier: Apache-2.0
/// What another process does once this one has ended without having said that it leaves.
///
/// The other process, the watcher, has a question for its own handler (ActivityRegistry::last_will), and
/// finds the end of the connection over which it came. A process that ends by exit() takes back what it has
/// left, as if it had destroyed its communicators: that is how many programs end. One that is killed, or ends
/// by _exit(), does not.
///
/// Not thread-safe, but other threads may end the process meanwhile. A forked child must not destroy it.
/// Tests: tests/core/failure_relay_test.cc
#pragma once

#include "src/base/clock.h"
#include "src/base/status.h"
#include "src/net/listener/message_connection.h"

namespace weir::core {

class LastWill {
 public:
  /// `connections`: may have an open one to `watcher`; the others are closed.
  LastWill(MessageConnections connections, const SocketAddress& watcher, const DeliveryKey& key);
  LastWill(const LastWill&) = delete;
  LastWill& operator=(const LastWill&) = delete;
  /// Takes it back.
  ~LastWill();

  /// Errors: those of MessageConnection::send; nobody watches this process then.
  Status leave(BytesView question, const Deadline& deadline);

 private:
  struct Wills;
  static Wills& of_this_process();
  static void take_back_all();
  void take_back();

  MessageConnections connections_;
  const SocketAddress watcher_;
  const DeliveryKey key_;
};

}  // namespace weir::core
