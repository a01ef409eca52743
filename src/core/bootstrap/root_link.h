// SPDX-License-Identifier: Apache-2.0
/// A rank's connection to the root while it joins.
/// Tests: tests/core/bootstrap_test.cc
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "src/core/bootstrap/frames.h"
#include "src/core/bootstrap/root_wire.h"
#include "src/core/call/unique_id.h"

namespace weir::core {

/// Not thread-safe.
class RootLink {
 public:
  /// Connects and sends the hello; returns when the root has answered. For a fixed id it retries until
  /// Timeouts::init_ms is over; for others there is no retry, since the root started when the id was made.
  static Result<std::unique_ptr<RootLink>> open(const UniqueId& id, const root_wire::Hello& hello,
                                                const Timeouts& timeouts, const std::atomic<bool>* abort);

  /// Reads the root's messages and answers them; waits at most `wait_ms` for one. Returns an error if the
  /// root reported a failure, is dead or stopped, or if this rank is aborted.
  Status serve(int wait_ms);
  /// The listeners to send to; set once all ranks have joined.
  const std::optional<root_wire::Listeners>& listeners() const { return listeners_; }
  /// True if the root has reported a failure; every rank gets it.
  bool was_told() const { return told_; }
  /// Tells the root that this rank knows the others, or why it failed.
  void leave(const Status& status);

 private:
  RootLink(Socket socket, const UniqueId& id, const Timeouts& timeouts, const std::atomic<bool>* abort);

  /// Sets `told` if an error was reported by the root.
  static Result<std::unique_ptr<RootLink>> try_open(const UniqueId& id, const root_wire::Hello& hello,
                                                    const Timeouts& timeouts, const Deadline& deadline,
                                                    bool& told);
  Status take_in();

  Frames frames_;
  const UniqueId id_;
  const Timeouts timeouts_;
  const std::atomic<bool>* const abort_;
  int64_t heard_ns_;
  int64_t served_ns_;
  bool welcome_ = false;
  bool told_ = false;
  std::optional<root_wire::Listeners> listeners_;
};

}  // namespace weir::core
