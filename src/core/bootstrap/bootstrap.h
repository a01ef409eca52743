// SPDX-License-Identifier: Apache-2.0
/// How the ranks of a communicator find each other, and small exchanges among them (transport addresses,
/// colours).
///
/// Joining: every rank says hello to the root (root.h), which waits until all are there and tells each rank
/// the listeners of those log2(n) ranks that it will send to. What everybody must know travels among the
/// ranks themselves in a Bruck all-gather, as messages to listeners; nothing stays open between exchanges.
/// Once ranks know which of them are in one process, only processes send messages (bootstrap_all_gather.h).
///
/// Every wait ends: with a deadline, the abort flag, or an error that names who did not answer. Used by one
/// thread at a time; several ranks may be threads of one process and share its listener.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "src/core/bootstrap/bootstrap_all_gather.h"
#include "src/core/bootstrap/root.h"
#include "src/core/call/unique_id.h"
#include "src/core/diagnosis/watchdog.h"
#include "src/net/listener/listener.h"
#include "weir/status.h"

namespace weir::core {

/// How a rank looks to another one.
enum class Presence {
  present,  ///< its process answers, and has the communicator
  left,     ///< its process answers, and has destroyed or aborted it
  silent,   ///< no answer: it is stopped, or out of reach
  dead,     ///< its process has ended
};

class Bootstrap {
 public:
  /// What a rank brings along.
  struct Spec {
    UniqueId id;
    int ranks = 1;
    Rank rank = 0;
    std::shared_ptr<Listener> listener;
    ActivityRegistry* activities = nullptr;      ///< outlives the bootstrap; answers at `listener`
    Roots* roots = nullptr;                      ///< where rank 0 starts the root of a fixed id
    BootstrapAllGathers* all_gathers = nullptr;  ///< of this process; outlives the bootstrap
    uint64_t host = 0;                           ///< host_identity()
    Timeouts timeouts;
    const std::atomic<bool>* abort = nullptr;
  };

  /// Meets the other ranks. Blocks.
  static Result<std::unique_ptr<Bootstrap>> join(const Spec& spec);
  /// The ranks `members` of `parent` (which this rank is one of), renumbered in that order, as communicator
  /// `uid`. Local: nothing is sent. All members must give the same list and uid.
  static Result<std::unique_ptr<Bootstrap>> subset(const Bootstrap& parent, const std::vector<Rank>& members,
                                                   uint64_t uid, const std::atomic<bool>* abort);
  /// The ranks of `parent` but `excluded` (sorted, without this one), in their order. Collective over those;
  /// the excluded may be dead. After an error, which all of them get, it can be tried again with a longer
  /// list.
  static Result<std::unique_ptr<Bootstrap>> without(Bootstrap& parent, const std::vector<Rank>& excluded,
                                                    const std::atomic<bool>* abort);
  ~Bootstrap();

  Rank rank() const { return rank_; }
  int size() const { return static_cast<int>(peers().size()); }
  /// The scope of this communicator at listeners; the same on all ranks, different for every communicator.
  uint64_t uid() const { return uid_; }
  const std::vector<PeerAddress>& peers() const { return watchdog_->peers(); }

  /// Everybody's bytes: one object for all ranks of a process. Collective.
  Result<std::shared_ptr<Gathered>> gather(BytesView own);
  /// The same as a copy, by rank. Collective.
  Result<std::vector<Bytes>> all_gather(BytesView own);
  /// Returns when all ranks have called it. Collective.
  Status barrier();

  /// What this rank does, for others to ask; calls of the communicator are noted here.
  Activity& activity() { return *activity_; }
  Watchdog& watchdog() { return *watchdog_; }
  /// How each rank looks from here, by rank. Asks their processes, which takes at most Timeouts::peer_ms for
  /// each 256 of them, and next to no time where all answer or are dead.
  std::vector<Presence> presences() const;

 private:
  Bootstrap(const Spec& spec, uint64_t uid, std::vector<PeerAddress> peers,
            std::shared_ptr<Activity> activity);
  void ask(std::span<const Rank> ranks, std::vector<Presence>& found) const;
  Result<std::shared_ptr<Gathered>> listen(BootstrapAllGathers::Meeting& meeting);
  Status await_company(BootstrapAllGathers::Meeting& meeting);
  Result<std::shared_ptr<Gathered>> speak(const std::map<Rank, Bytes>& said, uint32_t number);

  const Spec spec_;
  const uint64_t uid_;
  const Rank rank_;
  const std::shared_ptr<Activity> activity_;
  const std::unique_ptr<Watchdog> watchdog_;
  const Company company_;
  uint64_t exchanges_ = 0;
  uint32_t shrinks_ = 0;  ///< begun
};

}  // namespace weir::core
