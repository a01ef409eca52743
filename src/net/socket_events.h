// SPDX-License-Identifier: Apache-2.0
/// Sockets that a thread sleeps on: an epoll instance that becomes readable once one of them can be read or
/// written again (edge-triggered: bytes that stay unread, and buffers that stay free, wake nobody twice).
///
/// A sleeper calls epoll_wait() before it looks at the sockets again. Closing a socket takes it out of the
/// set. Thread-safe.
///
/// Tests: tests/net/socket_events_test.cc
#pragma once

#include <mutex>

#include "src/net/socket.h"

namespace weir {

class SocketEvents {
 public:
  /// The epoll instance, made at the first call; -1 if the system gives none. Then sleeps end by time only.
  int fd() const;
  /// Adds a connected socket. A socket that the system refuses to watch wakes nobody.
  void watch(const Socket& socket) const;

 private:
  mutable std::once_flag made_;
  mutable Socket epoll_;
};

}  // namespace weir
