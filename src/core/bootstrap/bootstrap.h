// SPDX-License-Identifier: Apache-2.0
/// How the ranks of a communicator find each other, and the small exchanges among them (transport addresses,
/// colours).
///
/// Joining: every rank sends a hello to the root (root.h), or to one of several (shares.h), which waits for
/// all ranks and sends each one the addresses of the log2(n) listeners that it will send to. All-gathers then
/// run among the ranks themselves (Bruck's algorithm), as messages to listeners. Connections for them stay
/// open until set-up is over, and from then on until the end of an exchange. Once ranks know which of them
/// share a process, one rank per process sends the messages (bootstrap_all_gather.h).
///
/// Every wait ends: at a deadline, by the abort flag, or with an error that names the rank that did not
/// answer. Used by one thread at a time; several ranks may be threads of one process and share its listener.
/// Tests: tests/core/bootstrap_test.cc
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/core/bootstrap/bootstrap_all_gather.h"
#include "src/core/bootstrap/last_will.h"
#include "src/core/bootstrap/root.h"
#include "src/core/bootstrap/shares.h"
#include "src/core/call/unique_id.h"
#include "src/core/diagnosis/watchdog.h"
#include "src/net/listener/listener.h"
#include "src/net/listener/message_connection.h"

namespace weir::core {

class RootLinks;
namespace root_wire {
struct Hello;
}

/// The state of a rank as another rank sees it.
enum class Presence {
  present,  ///< its process answers, and has the communicator
  left,     ///< its process answers, and has destroyed or aborted it
  silent,   ///< no answer: it is stopped, or out of reach
  dead,     ///< its process has ended
};

class Bootstrap {
 public:
  /// What a rank needs to join.
  struct Spec {
    UniqueId id;                            ///< the first one, if there are several
    std::optional<OwnRoot> own_root;        ///< none: the root of `id` serves all ranks
    std::shared_ptr<const TlsContext> tls;  ///< null: sockets are not encrypted
    int ranks = 1;
    Rank rank = 0;
    std::shared_ptr<Listener> listener;
    ActivityRegistry* activities = nullptr;      ///< outlives the bootstrap; answers at `listener`
    Roots* roots = nullptr;                      ///< this process's; rank 0 starts that of a fixed id
    BootstrapAllGathers* all_gathers = nullptr;  ///< exchanges of this process; outlive the bootstrap
    uint64_t host = 0;                           ///< host_identity()
    Timeouts timeouts;
    const std::atomic<bool>* abort = nullptr;

    Credentials credentials() const { return {id.secret, tls}; }
  };

  /// Meets the other ranks. Blocks. If this rank has to give up, the others are told why.
  static Result<std::unique_ptr<Bootstrap>> join(const Spec& spec);
  /// Tells the other ranks, through the root, that this one cannot join and why: they need not wait until
  /// Timeouts::init_ms is over. Takes a second at most. `spec` needs no listener.
  static void decline(const Spec& spec, const Status& why);
  /// Makes communicator `uid` of the ranks `members` of `parent`, renumbered in that order; this rank is one
  /// of them. Local: sends nothing. All members must pass the same list and uid.
  static Result<std::unique_ptr<Bootstrap>> subset(const Bootstrap& parent, const std::vector<Rank>& members,
                                                   uint64_t uid, const std::atomic<bool>* abort);
  /// Makes a communicator of the ranks of `parent` except `excluded` (sorted, without this rank), in their
  /// order. Collective over the remaining ranks; excluded ones may be dead. All remaining ranks get the same
  /// error; the call can then be repeated with a longer list.
  static Result<std::unique_ptr<Bootstrap>> without(Bootstrap& parent, const std::vector<Rank>& excluded,
                                                    const std::atomic<bool>* abort);
  ~Bootstrap();

  Rank rank() const { return rank_; }
  int size() const { return static_cast<int>(peers().size()); }
  /// The scope of this communicator at listeners; the same on all ranks, different for every communicator.
  uint64_t uid() const { return uid_; }
  Credentials credentials() const { return spec_.credentials(); }
  const std::vector<PeerAddress>& peers() const { return watchdog_->peers(); }

  /// All-gathers the bytes of all ranks; the ranks of a process share one object. Collective.
  Result<std::shared_ptr<GatherResult>> gather(BytesView own);
  /// Like gather(), but returns a copy, indexed by rank. Collective.
  Result<std::vector<Bytes>> all_gather(BytesView own);
  /// Returns when all ranks have called it. Collective.
  Status barrier();
  /// Says that few exchanges will follow: closes the connections that they have left open, but one. By its
  /// end the process before this one in the order of ranks sees when this process ends, also while nobody
  /// waits.
  void end_set_up();

  /// What this rank is doing, readable by others; the communicator records its calls here.
  Activity& activity() { return *activity_; }
  Watchdog& watchdog() { return *watchdog_; }
  /// The state of each rank, indexed by rank. Asks their processes, which takes at most Timeouts::peer_ms for
  /// each 256 ranks, and returns at once where all answer or are dead.
  std::vector<Presence> presences() const;

 private:
  struct Membership;

  Bootstrap(const Spec& spec, std::unique_ptr<Membership> membership, std::vector<PeerAddress> peers,
            MessageConnections connections);
  static root_wire::Hello hello_of(const Spec& spec);
  static Status join_through(const Spec& spec, const PeerAddress& own, RootLinks& root,
                             std::unique_ptr<Bootstrap>& joined);
  SocketAddress listener_of(Rank rank) const { return peers()[static_cast<size_t>(rank)].listener; }
  Result<uint64_t> agree_without(const std::vector<Rank>& excluded, const std::atomic<bool>* abort);
  void ask(std::span<const Rank> ranks, std::vector<Presence>& found) const;
  Result<std::shared_ptr<GatherResult>> listen(BootstrapAllGathers::Meeting& meeting);
  Status await_process(BootstrapAllGathers::Meeting& meeting);
  Result<std::shared_ptr<GatherResult>> speak(const std::map<Rank, Bytes>& said, uint32_t number);

  const Spec spec_;
  const uint64_t uid_;
  const Rank rank_;
  std::unique_ptr<Membership> membership_;
  const std::shared_ptr<Activity> activity_;
  const std::unique_ptr<Watchdog> watchdog_;
  const RanksByProcess ranks_by_process_;
  MessageConnections connections_;  ///< to the ranks to which exchanges send
  bool set_up_ = false;
  std::unique_ptr<LastWill> will_;  ///< null if nobody sees when this process ends
  uint64_t exchanges_ = 0;
  uint32_t shrinks_ = 0;  ///< number of the last shrink, which may be larger than how many there were
};

}  // namespace weir::core
