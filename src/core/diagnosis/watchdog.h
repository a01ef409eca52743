// SPDX-License-Identifier: Apache-2.0
/// Finds out why a rank waits for long, and tells everybody.
///
/// The waiting thread calls examine() again and again. Four times a second the watchdog asks the processes of
/// the ranks that it waits for, at their listeners, what those ranks are doing, and now and then those that
/// they wait for in turn, and so on, until it meets one that does not wait:
///
///   nobody listens at its address any more the process is dead                          remote_error
///   no answer, at none of its addresses    it is stopped, or its host is out of reach   remote_error
///   the rank left the communicator         destroyed or aborted too early               remote_error
///   another call with the same number      the calls do not match: both are named       invalid_usage
///   in no call                             a slow caller: a warning after Timeouts::warn_ms, and no
///                                          error unless Timeouts::stuck_ms says so
///   at work                                likewise
///   nobody else: all wait for each other   after Timeouts::deadlock_ms                  remote_error
///   it made the same call, but no channel  something between the hosts takes
///   between us has opened since            connections and does not pass them on        remote_error
///
/// The last one takes Timeouts::open_ms from when both are known to have called. Sends and receives have no
/// number that both ranks know: there it is a warning, once, where the other rank waits for this one.
///
/// Who finds a culprit first tells all other ranks before it returns the error, so that nobody takes a rank
/// that gave up for the culprit. From the moment somebody dies, on a host that lives, it takes less than
/// a second until examine() returns the error on every waiting rank, and ranks in no call have been told.
/// Where somebody stops, or a host dies, it takes at most Timeouts::peer_ms.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/clock.h"
#include "src/core/call/peer_address.h"
#include "src/core/diagnosis/activity_registry.h"
#include "src/exec/task.h"
#include "src/net/listener/listener.h"
#include "weir/status.h"

namespace weir::core {

/// Who had no turn for so long was stopped itself; silence meanwhile says nothing about others.
inline constexpr int64_t kStallNs = 500 * kNsPerMs;
/// Who is told of a failure, be it busy, has heard it by then, and takes nobody who went for the culprit.
inline constexpr int64_t kTellMs = 1000;

/// Milliseconds.
struct Timeouts {
  int64_t init_ms = 60'000;      ///< ranks that never join
  int64_t peer_ms = 5'000;       ///< a dead or stopped process
  int64_t stuck_ms = 0;          ///< a process that runs but does not make its call; 0: wait for ever
  int64_t open_ms = 60'000;      ///< a channel that does not open though both its ranks wait for it
  int64_t deadlock_ms = 30'000;  ///< ranks that all wait for each other; 0: for ever
  int64_t warn_ms = 30'000;      ///< in which nothing moves, before a warning; 0: none
};

class Watchdog {
 public:
  struct Spec {
    uint64_t uid = 0;
    Rank rank = 0;
    std::shared_ptr<const std::vector<PeerAddress>> peers;  ///< by rank, this one included
    ActivityRegistry* activities = nullptr;                 ///< of this process; outlives the watchdog
    std::shared_ptr<Activity> activity;
    Timeouts timeouts;
    const std::atomic<bool>* abort = nullptr;  ///< may be null; outlives the watchdog
  };

  explicit Watchdog(Spec spec);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Success while there is hope. Call it, with how long nothing has moved, whenever a look was in vain and
  /// the waiter is patient: at least every 100 ms. Never blocks, but for at most a second when it has found a
  /// culprit and tells the others; costs two looks at the clock when there is nothing to do. `opening`: a
  /// channel between the two ranks has not opened yet. `task`, if any, is what waits: it knows whom else for,
  /// and words for the error. Used by the waiting thread only.
  Status examine(Rank waiting_for, int64_t waited_ns, bool opening = false, const exec::Task* task = nullptr);

  /// The error of this communicator for something that this rank found out: tells the others, then returns
  /// what counts (an earlier failure, if there was one).
  Status fail(Failure failure);
  /// The error for a broken connection to `peer`: finds out, for at most a second, whether peer is dead or
  /// whether it only gave up because of somebody else. `what` is said too if the peer is gone, or if
  /// nothing better is found.
  Status explain(Rank peer, const Status& what, const exec::Task* task = nullptr);

  /// From now on instead of Timeouts::stuck_ms; 0: wait for ever. Any thread.
  void set_stuck_ms(int64_t ms) { stuck_ms_.store(ms, std::memory_order_relaxed); }
  int64_t stuck_ms() const { return stuck_ms_.load(std::memory_order_relaxed); }
  /// The error where this process has no memory left for what it does, of which it tells the others.
  Status exhausted(const exec::Task* task = nullptr);

  const std::vector<PeerAddress>& peers() const { return *spec_.peers; }
  /// The same, to keep.
  const std::shared_ptr<const std::vector<PeerAddress>>& shared_peers() const { return spec_.peers; }

 private:
  class Chase;

  /// How a rank looks from here.
  struct Finding {
    enum class Kind : uint8_t { waits, lives, failed, dead, silent, left, mismatched };
    Kind kind = Kind::lives;
    Rank rank = 0;
    std::vector<Rank> next;  ///< waits: for whom
    bool absent = false;     ///< lives: in no call
    int64_t waited_ns = 0;   ///< waits: how long nothing has moved there
    std::string words;       ///< what the rank does, or what is wrong with it
    Failure failure;         ///< failed: what it knows
    uint64_t calls = 0;      ///< that the rank has begun, if it runs
  };
  /// A finding that must be confirmed, because its reason may be that the rank was done and went.
  struct Suspicion {
    Finding finding;
    int64_t since_ns;
  };

  int64_t period_ns() const;
  int64_t silence_ns() const;
  std::optional<Finding> look(Chase& chase, int64_t now, uint64_t call) const;
  Status pursue(int64_t now);
  Finding interpret(Rank rank, const ActivityReport& report) const;
  Finding interpret(Rank rank, const Answer& answer) const;
  Status conclude(const Finding& finding, int64_t now);
  Status judge_the_slow(const Finding& finding, int64_t now);
  Status pause(int64_t now);
  Status judge_opening(const Finding& finding, int64_t now);
  bool has_waited(int64_t ms) const;
  std::string wait_words() const;
  std::string own_words() const;
  void rest(int64_t now, int64_t pause_ns);
  bool is_local(Rank rank) const;
  Status fail(Failure failure, bool culprit_is_gone);
  void tell(const Failure& failure, Rank except) const;

  const Spec spec_;
  std::atomic<int64_t> stuck_ms_;
  std::unique_ptr<Chase> chase_;
  std::optional<Suspicion> suspicion_;
  Rank waiting_for_ = -1;             ///< of the last examine()
  int64_t waited_ns_ = 0;             ///< same
  bool opening_ = false;              ///< same
  const exec::Task* task_ = nullptr;  ///< of the examine() or explain() under way
  int64_t examined_ns_ = 0;           ///< when
  int64_t both_called_ns_ = 0;        ///< since when the ranks of the channel are known to; 0: they are not
  bool warned_ = false;               ///< of it, during this wait
  bool warned_of_slow_ = false;       ///< same
  int64_t next_chase_ns_ = 0;
  uint32_t chases_ = 0;  ///< during this wait
};

}  // namespace weir::core
