// SPDX-License-Identifier: Apache-2.0
/// A question to a listener, under way: connect, ask, receive, each as far as it goes without blocking.
#pragma once

#include <poll.h>

#include <array>

#include "src/net/listener/listener.h"

namespace weir {

/// Not thread-safe. Dropping it gives up.
class Inquiry {
 public:
  Inquiry(const SocketAddress& listener, uint64_t scope, BytesView question);

  /// Goes on; true when the answer, or the failure, is there.
  bool advance();
  bool done() const { return done_; }
  /// What to poll for before advance() can get further; REQUIRES: !done().
  pollfd waits_for() const;
  /// What came of it; `silent` if it is not done.
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
