// SPDX-License-Identifier: Apache-2.0
/// A question to a listener in flight: it connects, sends and receives, each step as far as possible without
/// blocking.
/// Tests: tests/net/listener_test.cc, tests/core/watchdog_test.cc
#pragma once

#include <poll.h>

#include <array>

#include "src/net/listener/listener.h"
#include "src/net/listener/outgoing_connection.h"

namespace weir {

/// Not thread-safe. The destructor cancels the question.
class Inquiry {
 public:
  /// A question about a communicator, from a process that has the credentials of its job.
  Inquiry(const SocketAddress& listener, uint64_t scope, const Credentials& credentials, BytesView question);
  /// A question for reports: with the secret for them, or as the user to whom they are shown.
  Inquiry(const SocketAddress& listener, const ReportAccess& access, BytesView question);

  /// Advances the inquiry; returns true when it has an answer or has failed.
  bool advance();
  bool done() const { return done_; }
  /// The descriptor and events to poll for before advance() can make progress; a descriptor of -1: call it
  /// again after a few milliseconds. REQUIRES: !done().
  pollfd waits_for() const;
  /// The result; its kind is `silent` if the inquiry is not done.
  Answer take();

 private:
  void proceed();
  void receive();
  void understand_size();
  void fail(const Status& status);
  void finish();

  const SocketAddress listener_;
  const Bytes question_;
  OutgoingConnection outgoing_;
  size_t sent_ = 0;
  PeerSocket socket_;  ///< behind the verdict
  std::array<std::byte, 4> size_bytes_{};
  std::optional<uint32_t> size_;
  size_t received_ = 0;
  bool done_ = false;
  Answer answer_;
};

}  // namespace weir
