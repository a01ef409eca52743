// SPDX-License-Identifier: Apache-2.0
/// A walk along waits through several communicators, from a rank that cannot come to a call because its
/// thread waits in another communicator. Where the walk comes back to the rank that began it, none of them
/// can go on: each thread waits for the next one, and has done so for as long as the shortest of the waits.
///
/// A thread counts as that of a rank if it was the last to wait there. Frameworks with a thread for each
/// communicator have no such waits.
///
/// Not thread-safe. Nothing blocks.
/// Tests: tests/core/deadlock_search_test.cc
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/clock.h"
#include "src/core/diagnosis/activity_registry.h"
#include "src/net/listener/inquiry.h"

namespace weir::core {

class DeadlockSearch {
 public:
  /// The rank that begins the walk.
  struct Origin {
    uint64_t uid = 0;
    Rank rank = 0;
    SocketAddress listener;  ///< of its process, which is this one
    Credentials credentials;
  };
  enum class State : uint8_t {
    unknown,  ///< an answer is in flight
    closed,   ///< it has come back to the origin
    open,     ///< it has ended at a rank that does not wait, or that does not answer
  };

  /// `first`: for whom a thread waits of the process with this listener. `activities` are this process's;
  /// they outlive the walk.
  DeadlockSearch(const Origin& origin, ActivityRegistry& activities, const SocketAddress& listener,
                 const ThreadWait& first)
      : origin_(origin), activities_(activities), at_(first), waits_{{first.uid, listener, first.listener}} {}

  /// Walks on as far as answers have arrived.
  State advance();
  int64_t least_wait_ns() const { return least_wait_ns_; }
  /// When it began. Waits that are each longer than a walk have all been there at one time.
  int64_t since_ns() const { return since_ns_; }
  /// Tells the ranks on the way that the communicators in which they wait, or are waited for, have failed,
  /// within a second. Further ranks of these wait for them, and so learn of it.
  void tell(const Failure& failure) const;
  /// The walk behind the first rank: "waits for rank 0 (...) in communicator 0x5, which waits for ...".
  const std::string& words() const { return words_; }

 private:
  static constexpr size_t kMostSteps = 64;
  struct Wait {
    uint64_t uid = 0;
    SocketAddress waiter, awaited;  ///< listeners of the processes
  };

  /// What the rank does for which the last one waits; false: its answer is in flight.
  bool look(std::optional<ActivityReport>& found);

  const Origin origin_;
  ActivityRegistry& activities_;
  ThreadWait at_;  ///< the wait that was found last
  std::vector<Wait> waits_;
  int64_t least_wait_ns_ = at_.waiting_ns;
  std::string words_ = at_.words;
  std::unique_ptr<Inquiry> inquiry_;
  const int64_t since_ns_ = now_ns();
};

}  // namespace weir::core
