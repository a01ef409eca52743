// SPDX-License-Identifier: Apache-2.0
/// Finds out why a rank waits for long, and tells all ranks.
///
/// The waiting thread calls examine() repeatedly. Four times a second, and less often where more than 64
/// ranks share a core, the watchdog asks the listeners of the ranks that it waits for what those are doing,
/// and less often the ranks that these wait for, and so on along the chain, until it finds a rank that
/// itself does not wait:
///
///   its address refuses connections        the process is dead                          remote_error
///   its process is of this host, and gone  the same, even while its address accepts     remote_error
///   the same, and stopped                  after Timeouts::stopped_ms()                 remote_error
///   the same, it runs, but does not answer the host is busy: it counts as at work
///   none of its addresses answers, on      it is stopped, or its host is out of reach,
///   another host                           after Timeouts::peer_ms, and ten times what
///                                          this process itself runs late; after four
///                                          times as long while other ranks of its host
///                                          say that its process runs                    remote_error
///   the same, and these say that it is     after Timeouts::stopped_ms()                 remote_error
///   stopped or gone
///   the rank left the communicator         destroyed or aborted too early               remote_error
///   another call with the same number      the calls do not match: both are named       invalid_usage
///   it is in no call                       a slow caller: a warning after Timeouts::warn_ms, and an
///                                          error after Timeouts::stuck_ms, unless that is 0
///   it works in its call                   the same
///   none: all wait for each other          after Timeouts::deadlock_ms                  remote_error;
///                                          where data that one of them has sent are not acknowledged, the
///                                          error names the connection instead of the ring
///   the same through several communicators the same (deadlock_search.h)
///   it made the same call, but no channel  a device between the hosts accepts
///   between the two ranks has opened       connections without forwarding them          remote_error
///
/// The last one takes Timeouts::open_ms from when both are known to have called. Sends and receives have no
/// number that both ranks know: for them it is one warning, and only if the other rank waits for this one.
///
/// The rank that finds a culprit tells all other ranks before it returns the error, so that none of them
/// blames a rank that ended because of the error. After the death of a process on a live host, it takes less
/// than a second until examine() returns the error on every waiting rank and all other ranks have been told.
/// After a process stops or a host dies, it takes little longer than the times above.
/// Tests: tests/core/watchdog_test.cc, tests/core/silence_test.cc
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/clock.h"
#include "src/base/process_id.h"
#include "src/base/scheduling_delay.h"
#include "src/base/status.h"
#include "src/core/call/peer_address.h"
#include "src/core/diagnosis/activity_registry.h"
#include "src/core/diagnosis/rank_finding.h"
#include "src/exec/task.h"
#include "src/net/listener/listener.h"

namespace weir {
class Inquiry;
}

namespace weir::core {

/// A rank that has not run for this long was itself stopped, so missing answers in that time prove nothing.
inline constexpr int64_t kStallNs = 500 * kNsPerMs;

/// Time limits, in milliseconds.
struct Timeouts {
  int64_t init_ms = 60'000;  ///< limit for ranks that do not join
  int64_t peer_ms =
      30'000;  ///< time without an answer after which a process is lost, if nothing else is known
  int64_t stuck_ms = 1'800'000;  ///< limit for a process that runs but does not make its call; 0: none
  int64_t open_ms = 60'000;      ///< limit for a channel to open, once both its ranks wait for it
  int64_t deadlock_ms = 30'000;  ///< limit for ranks that all wait for each other; 0: none
  int64_t warn_ms = 30'000;      ///< time without progress before a warning; 0: no warning

  /// Time without an answer after which a process counts as lost that the kernel of its host shows as
  /// stopped: short, but users who need more time for their debugger raise peer_ms.
  int64_t stopped_ms() const { return std::max(peer_ms / 6, std::min<int64_t>(peer_ms * 65 / 100, 2'000)); }
};

class WaitChain;
class DeadlockSearch;

class Watchdog {
 public:
  struct Spec {
    uint64_t uid = 0;
    Rank rank = 0;
    std::shared_ptr<const std::vector<PeerAddress>> peers;  ///< addresses by rank, this rank's included
    ActivityRegistry* activities = nullptr;                 ///< this process's; outlives the watchdog
    std::shared_ptr<Activity> activity;
    Timeouts timeouts;
    const std::atomic<bool>* abort = nullptr;  ///< may be null; outlives the watchdog
    Credentials credentials{};                 ///< of the job, for listeners
  };

  explicit Watchdog(Spec spec);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Checks a wait for failures; success while there is none. The waiting thread calls it at least every 100
  /// ms; `waited_ns` is the time without progress. It blocks only to tell the others of a culprit, for at
  /// most a second; if there is nothing to do, it costs two readings of the clock. `opening`: a channel
  /// between the two ranks has not opened yet. `task`: the waiting task, or null; it names the further ranks
  /// it waits for, and its position for the error.
  Status examine(Rank waiting_for, int64_t waited_ns, bool opening = false, const exec::Task* task = nullptr);

  /// Fails the communicator for a reason that this rank found: tells the others, then returns the error to
  /// report, which is an earlier failure if there was one.
  Status fail(Failure failure);
  /// The error for a broken connection to `peer`: finds out, within a second, whether the peer is dead or
  /// only ended because of another rank's failure. The error includes `what` if the peer is gone, or if no
  /// other reason is found. If `what` is a shortage of this process, no peer is asked or blamed: the others
  /// are told of this rank, and the error is a system_error.
  Status explain(Rank peer, const Status& what, const exec::Task* task = nullptr);

  /// Replaces Timeouts::stuck_ms from now on; 0: no limit. Any thread.
  void set_stuck_ms(int64_t ms) { stuck_ms_.store(ms, std::memory_order_relaxed); }
  int64_t stuck_ms() const { return stuck_ms_.load(std::memory_order_relaxed); }
  /// The error if this process is out of memory; tells the others.
  Status exhausted(const exec::Task* task = nullptr);

  /// What the kernel says of the process of a rank; unknown on other hosts.
  ProcessState state_here(Rank rank) const;

  const std::vector<PeerAddress>& peers() const { return *spec_.peers; }
  /// The peers, for callers that keep a reference.
  const std::shared_ptr<const std::vector<PeerAddress>>& shared_peers() const { return spec_.peers; }

 private:
  /// A finding that must be confirmed: the rank may have ended regularly, with its last messages in flight.
  struct Suspicion {
    RankFinding finding;
    int64_t since_ns;
    /// Asks this process's own listener. Once it has answered, its thread has read what had arrived before: a
    /// message that the suspect sent before it ended is there.
    std::unique_ptr<Inquiry> own_listener;
    bool caught_up = false;  ///< the own listener has answered
  };

  int64_t period_ns() const;
  int64_t silence_ns() const;
  std::optional<RankFinding> look(WaitChain& chase, int64_t now, uint64_t call, bool network);
  std::optional<RankFinding> unanswered(WaitChain& chase, int64_t now);
  Status pursue(int64_t now);
  RankFinding interpret(Rank rank, const ActivityReport& report) const;
  RankFinding busy(Rank rank, int64_t silent_ns) const;
  RankFinding silent(const WaitChain& chase, ProcessState state, int64_t now, std::string_view why) const;
  RankFinding ended(Rank rank, ProcessState state) const;
  RankFinding unasked(Rank rank, const std::string& why) const;
  Status conclude(const RankFinding& finding, int64_t now);
  Status judge_the_slow(const RankFinding& finding, int64_t now);
  Status judge_the_blocked(const RankFinding& finding);
  bool stays_at_work(Rank rank, int64_t now);
  Status pause(int64_t now);
  Status judge_opening(const RankFinding& finding, int64_t now);
  bool has_waited(int64_t ms) const;
  bool is_overdue() const;
  std::string stall_words(const RankFinding& finding, std::string_view verdict) const;
  std::string wait_words() const;
  std::string own_words() const;
  Status told() const;
  bool has_caught_up(int64_t now);
  void rest(int64_t now, int64_t pause_ns);
  bool is_local(Rank rank) const;
  Status exhausted(std::string_view what, const exec::Task* task);
  Status fail(Failure failure, bool culprit_is_gone);
  Failure caused(Rank rank, const Cause& cause) const;

  const Spec spec_;
  std::atomic<int64_t> stuck_ms_;
  int64_t crowd_ = 1;  ///< factor of the pause between two inquiries
  std::unique_ptr<WaitChain> chase_;
  std::unique_ptr<DeadlockSearch> deadlock_;  ///< a walk through other communicators; null: none
  std::optional<Suspicion> suspicion_;
  Rank waiting_for_ = -1;             ///< argument of the last examine()
  int64_t waited_ns_ = 0;             ///< argument of the last examine()
  bool opening_ = false;              ///< argument of the last examine()
  const exec::Task* task_ = nullptr;  ///< task of the running examine() or explain()
  int64_t examined_ns_ = 0;           ///< time of the last examine()
  int64_t both_called_ns_ = 0;        ///< time since which both ranks of the channel have called; 0: not yet
  bool warned_ = false;               ///< warned of the channel during this wait
  bool warned_of_slow_ = false;       ///< warned of missing progress during this wait
  Rank at_work_ = -1;                 ///< rank that kept this one waiting by its work; negative: none
  int64_t at_work_since_ns_ = 0;      ///< when it was first found so, without interruption
  SchedulingDelay delay_;             ///< of this process during this wait
  int64_t next_chase_ns_ = 0;
  uint32_t chases_ = 0;  ///< number of chases during this wait
};

}  // namespace weir::core
