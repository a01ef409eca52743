// SPDX-License-Identifier: Apache-2.0
/// A question to a listener in flight: it connects, sends and receives, each step as far as possible without
/// blocking.
/// Tests: tests/net/listener_test.cc, tests/core/watchdog_test.cc
#pragma once

#include <poll.h>

#include <array>
#include <memory>
#include <vector>

#include "src/net/listener/listener.h"
#include "src/net/listener/outgoing_connection.h"

namespace weir {

/// The first advance() begins to connect. Not thread-safe. The destructor cancels the question.
class Inquiry {
 public:
  /// A question about a communicator, from a process that has the credentials of its job.
  Inquiry(const SocketAddress& listener, uint64_t scope, const Credentials& credentials, BytesView question);
  /// A question for reports, with the secret for them where one is known.
  Inquiry(const SocketAddress& listener, const ReportAccess& access, BytesView question);
  /// A question for reports over the local socket of a listener. `connect` makes the connection.
  Inquiry(const SocketAddress& listener, OutgoingConnection::Connect connect, BytesView question);

  /// Advances the inquiry; returns true when it has an answer or has failed, or is held.
  bool advance();
  /// Lets it connect, but not ask before release(). Call it before the first advance().
  void hold() { held_ = true; }
  void release() { held_ = false; }
  bool done() const { return done_; }
  /// The descriptor and events to poll for before advance() can make progress; a descriptor of -1: call it
  /// again after a few milliseconds. REQUIRES: !done().
  pollfd waits_for() const;
  /// Refuses an answer of more bytes. Call it before the first advance().
  void limit(uint32_t most) { most_ = most; }
  /// The result; its kind is `silent` if the inquiry is not done.
  Answer take();

 private:
  void proceed();
  void receive();
  void understand_size();
  void understand();
  Status not_weir() const;
  void fail(const Status& status);
  void finish();

  const SocketAddress listener_;
  const Bytes question_;
  const bool local_ = false;
  OutgoingConnection outgoing_;
  size_t sent_ = 0;
  PeerSocket socket_;  ///< behind the verdict
  std::array<std::byte, 4> size_bytes_{};
  std::optional<uint32_t> size_;
  uint32_t most_ = Listener::kMostBytes;
  size_t received_ = 0;
  bool held_ = false;
  bool done_ = false;
  Answer answer_;
};

/// Waits until `deadline` for the answers to inquiries, and returns them in the same order.
std::vector<Answer> answers_of(std::vector<std::unique_ptr<Inquiry>> inquiries, const Deadline& deadline);

}  // namespace weir
