// SPDX-License-Identifier: Apache-2.0
/// The queue pairs of one end of a channel of verbs, over one or several rails, and the recovery when one of
/// them breaks.
///
/// An end that abandons a queue pair halts it and tells the peer over another one; the peer then halts its
/// end and confirms that. An end that knows that the peer's end is halted knows that nothing in flight on the
/// queue pair can still arrive there. Lost messages may then be retransmitted over other queue pairs, and no
/// late packet can overwrite what came after.
///
/// A trial is a new queue pair in the place of one that both ends have halted. Probes of both ends have to
/// cross it before it carries anything else.
/// Tests: tests/transports/verbs_pacing_test.cc
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/drivers/verbs.h"
#include "transports/verbs/rails.h"
#include "transports/verbs/slots.h"
#include "transports/verbs/wire.h"

namespace weir::verbs {

/// Callbacks of an end for events of its queue pairs. Called from within QueuePairs::serve().
class QueuePairUser {
 public:
  virtual ~QueuePairUser() = default;
  virtual void arrived(uint32_t queue_pair, const Immediate& what) = 0;
  /// The peer has what was posted with this id.
  virtual void completed(uint32_t queue_pair, uint64_t id) = 0;
  /// This end has abandoned the queue pair; another one works.
  virtual void given_up(uint32_t queue_pair) = 0;
  /// The peer has halted its end of the queue pair, after this end did.
  virtual void peer_halted(uint32_t queue_pair) = 0;
  /// A trial has replaced the queue pair, which is live again.
  virtual void regained(uint32_t queue_pair) = 0;
};

/// Settings of queue pairs: the NCCL_IB_ options.
struct QueuePairSettings {
  uint32_t per_rail = 1;
  bool split = false;                      ///< split each message over all queue pairs
  int64_t first_pause_ns = 1'000'000'000;  ///< until an abandoned queue pair is tried again
  drivers::VerbsPairSpec pair;
};

class QueuePairs {
 public:
  /// The rail of this end and the port of the peer for one queue pair.
  struct Place {
    size_t rail = 0;
    uint16_t peer_port = 0;
  };
  static constexpr uint64_t kNoId = UINT64_MAX - 1;  ///< id of posts whose completion does not matter

  /// `name` is the name of the channel, `peer` that of the peer, for messages. `rails` and the arguments of
  /// make() outlive the queue pairs.
  QueuePairs(Rails& rails, std::string name, std::string peer)
      : rails_(rails), name_(std::move(name)), peer_(std::move(peer)) {}

  /// Creates the queue pairs, for `depth` requests each, and replaces existing ones.
  Status make(const std::vector<Place>& places, const QueuePairSettings& settings, uint32_t depth,
              Slots& slots);
  uint32_t size() const { return static_cast<uint32_t>(queue_pairs_.size()); }
  /// The description of this end of a queue pair, for the peer.
  QueuePairEnd end(uint32_t queue_pair) const;
  /// Connects the queue pair to the peer's end.
  Status connect(uint32_t queue_pair, const QueuePairEnd& peer);

  uint32_t live() const { return live_; }
  bool is_live(uint32_t queue_pair) const { return queue_pairs_[queue_pair].live; }
  /// The number of the attempt that the queue pair in this place comes from; 0: it is that of the offer.
  uint32_t attempt(uint32_t queue_pair) const { return queue_pairs_[queue_pair].attempt; }
  /// The next live queue pair, round-robin. REQUIRES: live() > 0.
  uint32_t next();
  /// Keys of this end's memory for its devices, and of the peer's memory for the peer's devices.
  const SlotKeys& own_keys(uint32_t queue_pair) const { return queue_pairs_[queue_pair].own; }
  const SlotKeys& peer_keys(uint32_t queue_pair) const { return queue_pairs_[queue_pair].peer; }
  /// Posts on a live queue pair. If it breaks, serve() detects that.
  void post(uint32_t queue_pair, const drivers::VerbsWrite* write, const Immediate& immediate, uint64_t id);
  /// Limits the devices to this many bytes per second from now on, in equal shares of all live queue pairs;
  /// 0: unlimited. Returns the error of a device that cannot do this; then there is no limit. REQUIRES: all
  /// queue pairs are connected.
  Status set_rate(double bytes_per_s);
  /// Number of posts on the queue pair that have not completed.
  uint32_t under_way(uint32_t queue_pair) const { return queue_pairs_[queue_pair].under_way; }

  /// Whether the queue pair may be tried again: both ends have halted it, and its port may work.
  bool may_try(uint32_t queue_pair) const;
  /// Begins a trial; the description of this end, for the peer. REQUIRES: may_try().
  Result<QueuePairEnd> begin_trial(uint32_t queue_pair, uint32_t attempt);
  /// Connects the trial. The end that does not `answer` probes sends the first one.
  Status connect_trial(uint32_t queue_pair, const QueuePairEnd& peer, bool answers);
  /// The number of the trial's attempt; nullopt: there is no trial, or it has failed.
  std::optional<uint32_t> trial(uint32_t queue_pair) const;
  void end_trial(uint32_t queue_pair) { queue_pairs_[queue_pair].trial.reset(); }
  /// The peer does not use the queue pair any more.
  void drop(uint32_t queue_pair, QueuePairUser& user);

  /// Handles arrivals and completions, abandons broken queue pairs, and calls `user`.
  void serve(QueuePairUser& user);
  /// The peer has closed: broken queue pairs are no longer reported.
  void expect_no_more() { peer_gone_ = true; }
  /// The reason why no queue pair is left; ok while there is one.
  const Status& status() const { return status_; }
  /// "port rxe0:1 (10.0.0.1) to 10.0.0.2".
  std::string path(uint32_t queue_pair) const { return path_of(queue_pairs_[queue_pair]); }
  /// Paths of all queue pairs, each path once: "port rxe0:1 (10.0.0.1) to 10.0.0.2".
  std::string paths() const;

 private:
  struct Trial {
    std::unique_ptr<drivers::VerbsPair> pair;
    uint32_t attempt = 0;
    uint32_t first = 0;
    QueuePairEnd peer;
    uint32_t under_way = 0;
    bool answers = false;
    bool connected = false;
    bool failed = false;
  };
  struct QueuePair {
    Rail* rail = nullptr;
    std::unique_ptr<drivers::VerbsPair> pair;
    uint16_t peer_port = 0;
    uint32_t attempt = 0;
    uint32_t first = 0;
    SlotKeys own;
    SlotKeys peer;
    std::string peer_gid;
    uint32_t under_way = 0;
    bool live = false;
    bool halted_here = false;
    bool halted_there = false;
    std::string trouble;  // reason to abandon it; not handled yet
    std::optional<Trial> trial;
  };

  Result<std::unique_ptr<drivers::VerbsPair>> make_pair(const Rail& rail, uint32_t first) const;
  drivers::VerbsPath path_to(const QueuePair& queue_pair, const QueuePairEnd& peer) const;
  void use(QueuePair& queue_pair, const QueuePairEnd& peer);
  void poll_trial(uint32_t index, QueuePairUser& user);
  void adopt_trial(uint32_t index, QueuePairUser& user);
  void lose(uint32_t index, QueuePairUser& user);
  void poll(uint32_t index, QueuePairUser& user);
  void take(uint32_t index, const Immediate& immediate, QueuePairUser& user);
  void avoid_down_rails();
  void give_up(uint32_t index, QueuePairUser& user);
  void announce();
  static std::string path_of(const QueuePair& queue_pair);

  Rails& rails_;
  const std::string name_;
  const std::string peer_;
  drivers::VerbsPairSpec spec_;  // what the queue pairs of all rails have in common
  std::vector<QueuePair> queue_pairs_;
  uint32_t live_ = 0;
  uint32_t next_ = 0;
  double rate_ = 0;          // rate of the channel in bytes/s; 0: unlimited
  int64_t all_down_ns_ = 0;  // time since which the ports of all live queue pairs are down; 0: they are not
  bool peer_gone_ = false;
  Status status_;
};

}  // namespace weir::verbs
