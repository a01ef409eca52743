// SPDX-License-Identifier: Apache-2.0
/// Tells processes of failures on a thread of its own, which exists only while there is something to tell.
///
/// A process whose communicator has failed will probably leave its other communicators, or end. Their members
/// that are not in the failed one get to know why before: they name the rank that failed there, not the one
/// that left. And where a connection shows that a process has ended while nobody waits for it, all members of
/// its communicator are told.
///
/// Thread-safe. Best effort: who is not told finds out that a rank has left, but not why.
/// Tests: tests/core/failure_relay_test.cc
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <variant>
#include <vector>

#include "src/core/diagnosis/activity_registry.h"

namespace weir::core {

/// Long enough that a busy peer learns of the failure before it sees this rank exit and blames it.
inline constexpr int64_t kTellMs = 1000;

/// A rank whose connection has ended.
struct EndedConnection {
  uint64_t uid = 0;
  Rank rank = 0;
};

class FailureRelay {
 public:
  /// `activities` owns it.
  explicit FailureRelay(ActivityRegistry& activities) : activities_(activities) {}
  /// Waits for the thread.
  ~FailureRelay();

  /// Tells the members of this process's other communicators that a communicator has failed.
  void tell_others(const Cause& cause) { add(cause); }
  /// Finds out whether the process of a rank has ended; then its communicator has failed.
  void check(const EndedConnection& ended) { add(ended); }
  /// Waits until nothing is left to tell, at most kTellMs.
  void settle();

 private:
  using Job = std::variant<Cause, EndedConnection>;

  void add(Job job);
  void work();
  void carry_out(const Cause& cause) const;
  void carry_out(const EndedConnection& ended) const;

  ActivityRegistry& activities_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::deque<Job> jobs_;  ///< the first one is in progress while works_
  bool works_ = false;
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

/// The failure of a communicator with these members because of `cause`: `rank` has left, or is itself to
/// blame.
Failure failure_by_cause(const std::vector<PeerAddress>& peers, Rank rank, const Cause& cause);

/// Tells all processes of `peers` but that of `self` that their communicator has failed, within kTellMs.
/// `except`: a rank that cannot listen; -1: none. Who is not reached finds out by itself.
void tell_members(uint64_t uid, const std::vector<PeerAddress>& peers, Rank self,
                  const Credentials& credentials, const Failure& failure, Rank except,
                  const std::atomic<bool>* abort);

}  // namespace weir::core
