// SPDX-License-Identifier: Apache-2.0
/// A rank's connection to the root while it joins.
/// Tests: tests/core/bootstrap_test.cc
#pragma once

#include <poll.h>

#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/scheduling_delay.h"
#include "src/core/bootstrap/frames.h"
#include "src/core/bootstrap/root_wire.h"
#include "src/core/call/unique_id.h"
#include "src/net/tls/credentials.h"

namespace weir::core {

/// Not thread-safe.
class RootLink {
 public:
  /// Connects, proves that this rank has the secret of `id`, and returns when the root has proven the same.
  /// For a fixed id it retries until Timeouts::init_ms is over; for others only a connection that the root
  /// closes before its answer is tried again, since the root started when the id was made.
  static Result<std::unique_ptr<RootLink>> open(const UniqueId& id, const Credentials& credentials,
                                                const root_wire::Hello& hello, const Timeouts& timeouts,
                                                const std::atomic<bool>* abort);

  /// Reads the root's messages and answers them; waits at most `wait_ms` for one. Returns an error if the
  /// root reported a failure, is dead or stopped, or if this rank is aborted.
  Status serve(int wait_ms);
  /// What to poll its socket for; serve(0) then has work. `pending`: there is work already.
  pollfd events() const { return {frames_.socket().fd(), frames_.events(), 0}; }
  bool pending() const { return frames_.pending(); }
  /// Whether the root has asked this rank to relay, and whether it may stop that.
  bool relays() const { return relays_; }
  bool released() const { return released_; }
  /// Sends a frame of another root; take_relayed() has those for it.
  void send(BytesView frame) { frames_.send(frame); }
  std::vector<Bytes> take_relayed() { return std::exchange(relayed_, {}); }
  /// The listeners to send to; set once all ranks have joined.
  const std::optional<root_wire::Listeners>& listeners() const { return listeners_; }
  /// True if the root has reported a failure; every rank gets it.
  bool was_told() const { return told_; }
  /// Tells the root that this rank knows the others, or why it failed.
  void leave(const Status& status);

 private:
  /// How an attempt to open ended.
  enum class Attempt : uint8_t {
    unreached,  ///< nobody accepts connections there, or answers
    closed,     ///< it closed the connection before it answered
    stranger,   ///< the root of another job, which refuses, or a process without the secret
    told,       ///< the root has reported an error
  };

  RootLink(Socket socket, const UniqueId& id, const Credentials& credentials, const root_wire::Hello& hello,
           const Timeouts& timeouts, const std::atomic<bool>* abort);

  static Result<std::unique_ptr<RootLink>> try_open(const UniqueId& id, const Credentials& credentials,
                                                    const root_wire::Hello& hello, const Timeouts& timeouts,
                                                    const Deadline& deadline, bool at_own, Attempt& attempt);
  Status take_in();
  bool is_silent(int64_t now);
  Status take_strange(BytesView frame);
  Status understood(const Status& said) const;
  Status stranger(std::string_view what);

  Frames frames_;
  const UniqueId id_;
  const Credentials credentials_;
  root_wire::Hello hello_;
  const Timeouts timeouts_;
  const std::atomic<bool>* const abort_;
  int64_t heard_ns_;
  int64_t served_ns_;
  SchedulingDelay delay_;
  bool said_hello_ = false;
  std::optional<root_wire::Welcome> welcome_;  ///< that of the root, once it has proven to be it
  bool closed_ = false;                        ///< the other side has closed the connection
  bool strange_ = false;                       ///< the other side is not the root of this job
  bool told_ = false;
  bool relays_ = false;
  bool released_ = false;
  std::vector<Bytes> relayed_;
  std::optional<root_wire::Listeners> listeners_;
};

}  // namespace weir::core
