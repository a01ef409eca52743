// SPDX-License-Identifier: Apache-2.0
/// A rank's connection to the root while it joins.
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
  /// Connects and says hello; returns when the root has answered. For a fixed id it tries until the time for
  /// missing ranks is over; for others the root has been there since the id was made.
  static Result<std::unique_ptr<RootLink>> open(const UniqueId& id, const root_wire::Hello& hello,
                                                const Timeouts& timeouts, const std::atomic<bool>* abort);

  /// Takes in what the root says, answers it, and waits at most `wait_ms` for something to come. An error:
  /// what the root said went wrong, or that it is dead or stopped, or the abort.
  Status serve(int wait_ms);
  /// The listeners of the others, once all are there.
  const std::optional<root_wire::Listeners>& listeners() const { return listeners_; }
  /// The root has said that it went wrong, to everybody.
  bool was_told() const { return told_; }
  /// Tells the root that this rank knows the others, or why it gives up.
  void leave(const Status& status);

 private:
  RootLink(Socket socket, const UniqueId& id, const Timeouts& timeouts, const std::atomic<bool>* abort);

  /// `told`: an error is what the root said.
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
