// SPDX-License-Identifier: Apache-2.0
/// A question to a listener in flight: it connects, sends and receives, each step as far as possible without
/// blocking.
/// Tests: tests/net/listener_test.cc, tests/core/watchdog_test.cc
#pragma once

#include <poll.h>

#include <array>

#include "src/net/listener/listener.h"

namespace weir {

/// Not thread-safe. The destructor cancels the question.
class Inquiry {
 public:
  Inquiry(const SocketAddress& listener, uint64_t scope, BytesView question);

  /// Advances the inquiry; returns true when it has an answer or has failed.
  bool advance();
  bool done() const { return done_; }
  /// The descriptor and events to poll for before advance() can make progress. REQUIRES: !done().
  pollfd waits_for() const;
  /// The result; its kind is `silent` if the inquiry is not done.
  Answer take();

 private:
  void receive();
  void fail(const Status& status);
  void finish();

  const SocketAddress listener_;
  Bytes request_;
  size_t sent_ = 0;
  Socket socket_;
  std::array<std::byte, 4> size_{};
  size_t received_ = 0;
  bool connected_ = false;
  bool size_known_ = false;
  bool done_ = false;
  Answer answer_;
};

}  // namespace weir
