// SPDX-License-Identifier: Apache-2.0
/// The state machine of a communicator: which phase of its life it is in, and the first error it had.
///
///     created -> connecting -> ready -> finalizing
///                                |
///                                +---> suspending -> suspended -> resuming -> ready
///     any phase -> failed;  any phase -> revoked
///
/// `failed` and `revoked` are never left. The first error stays, whatever fails later. `revoked` is what the
/// caller asked for, and no failure: the communicator is only good for children.
///
/// Thread-safe.
/// Tests: tests/core/lifecycle_test.cc
#pragma once

#include <atomic>
#include <functional>
#include <mutex>

#include "src/base/status.h"

namespace weir::core {

class Lifecycle {
 public:
  enum class Phase : uint8_t {
    created,
    connecting,
    ready,
    finalizing,
    suspending,
    suspended,
    resuming,
    failed,
    revoked,
  };

  /// `on_failure` is called once, with the first error, before others see it.
  explicit Lifecycle(std::function<void()> on_failure) : on_failure_(std::move(on_failure)) {}

  Phase phase() const { return phase_.load(std::memory_order_acquire); }
  /// The quick look of each call: whether operations may be started at once.
  bool ready() const { return phase() == Phase::ready; }
  bool revoked() const { return phase() == Phase::revoked; }

  /// Success, in_progress with a sentence while a phase is passed through or a child is set up in the
  /// background, or the first error. Once it is revoked, success.
  Status status() const;
  /// Success, or why no operation can be started now.
  Status usable() const;

  /// Goes on to the phase, unless the communicator has failed or was revoked. REQUIRES: neither failed nor
  /// revoked, which have functions of their own.
  void enter(Phase phase);
  /// Keeps the error, if it is the first one. An error that no call returns (`returned`) is logged, and the
  /// last error, before others see it. REQUIRES: !error.ok().
  void fail(const Status& error, bool returned = true);
  /// From now on the communicator is only good for children; `error` is why, unless it has failed before.
  void revoke(const Status& error);

  /// Whoever waits for peers looks at this flag, and gives up once it is set.
  const std::atomic<bool>& aborted() const { return aborted_; }
  void request_abort() { aborted_.store(true); }

  /// Around the set-up of a communicator that is made of this one in the background.
  void begin_child() { children_.fetch_add(1); }
  void end_child() { children_.fetch_sub(1); }

 private:
  Status status_of_phase() const;
  void end(Phase phase, const Status& error, bool logs);

  const std::function<void()> on_failure_;
  mutable std::mutex mutex_;
  std::atomic<Phase> phase_{Phase::created};
  Status error_;
  std::atomic<bool> aborted_{false};
  std::atomic<int> children_{0};
};

/// Why no operation can be started on a suspended communicator.
Status suspended_status();

}  // namespace weir::core
