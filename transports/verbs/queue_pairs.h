// SPDX-License-Identifier: Apache-2.0
/// The queue pairs of one end of a channel of verbs, over one or several rails, and what happens when one of
/// them breaks.
///
/// An end that gives up a queue pair halts it and says so over another one; the peer then halts
/// its end and says so too. Who has heard that the peer's end is halted knows that nothing that was under way
/// on the queue pair can still arrive there, so what was lost may be sent again elsewhere and no late packet
/// can overwrite what came after.
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

/// What an end does when something happens on a queue pair. Called from within QueuePairs::serve().
class QueuePairUser {
 public:
  virtual ~QueuePairUser() = default;
  virtual void arrived(uint32_t queue_pair, const Immediate& what) = 0;
  /// What was posted with this id is with the peer.
  virtual void completed(uint32_t queue_pair, uint64_t id) = 0;
  /// The queue pair is given up on this side; another one works.
  virtual void given_up(uint32_t queue_pair) = 0;
  /// The peer has halted its end of the queue pair, after this end.
  virtual void peer_halted(uint32_t queue_pair) = 0;
};

/// How queue pairs are made: the NCCL_IB_ options.
struct QueuePairSettings {
  uint32_t per_rail = 1;
  bool split = false;  ///< each message over all queue pairs
  drivers::VerbsPairSpec pair;
};

class QueuePairs {
 public:
  /// One queue pair to be: a rail of ours, a port of the peer.
  struct Place {
    size_t rail = 0;
    uint16_t peer_port = 0;
  };
  static constexpr uint64_t kNoId = UINT64_MAX - 1;  ///< of posts that nobody waits for

  /// `name` is the channel's, `peer` the peer's, for sentences. `rails` outlives the queue pairs, and so does
  /// what make() is given.
  QueuePairs(Rails& rails, std::string name, std::string peer)
      : rails_(rails), name_(std::move(name)), peer_(std::move(peer)) {}

  /// Makes the queue pairs, for `depth` requests each, instead of those that there were.
  Status make(const std::vector<Place>& places, const QueuePairSettings& settings, uint32_t depth,
              Slots& slots);
  uint32_t size() const { return static_cast<uint32_t>(queue_pairs_.size()); }
  /// This end of a queue pair, to tell the peer.
  QueuePairEnd end(uint32_t queue_pair) const;
  /// Connects to the peer's end of the queue pair.
  Status connect(uint32_t queue_pair, const QueuePairEnd& peer);

  uint32_t live() const { return live_; }
  bool is_live(uint32_t queue_pair) const { return queue_pairs_[queue_pair].live; }
  /// The live queue pairs in turn. REQUIRES: live() > 0.
  uint32_t next();
  /// Of this end's memory, for its devices; of the peer's, for the peer's.
  const SlotKeys& own_keys(uint32_t queue_pair) const { return queue_pairs_[queue_pair].own; }
  const SlotKeys& peer_keys(uint32_t queue_pair) const { return queue_pairs_[queue_pair].peer; }
  /// Posts on a live queue pair. If it breaks, serve() finds out.
  void post(uint32_t queue_pair, const drivers::VerbsWrite* write, const Immediate& immediate, uint64_t id);
  /// From now on the devices send at most so many bytes per second, over all live queue pairs together, each
  /// with the same share; 0: without a limit. Where a device cannot do that, its sentence is returned and
  /// there is no limit. REQUIRES: all are connected.
  Status set_rate(double bytes_per_s);
  /// How many posts of the queue pair have not completed.
  uint32_t under_way(uint32_t queue_pair) const { return queue_pairs_[queue_pair].under_way; }

  /// Takes what came and completed, gives up queue pairs that broke, tells `user`.
  void serve(QueuePairUser& user);
  /// The peer is gone: that queue pairs break is no news any more.
  void expect_no_more() { peer_gone_ = true; }
  /// Why no queue pair is left; success while one is.
  const Status& status() const { return status_; }
  /// "port rxe0:1 (10.0.0.1) to 10.0.0.2": the way of each queue pair, each way once.
  std::string paths() const;

 private:
  struct QueuePair {
    Rail* rail = nullptr;
    std::unique_ptr<drivers::VerbsPair> pair;
    uint16_t peer_port = 0;
    uint32_t first = 0;
    SlotKeys own;
    SlotKeys peer;
    std::string peer_gid;
    uint32_t under_way = 0;
    bool live = false;
    bool halted_here = false;
    bool halted_there = false;
    std::string trouble;  // found, not acted upon yet
  };

  void poll(uint32_t index, QueuePairUser& user);
  void take(uint32_t index, const Immediate& immediate, QueuePairUser& user);
  void avoid_down_rails();
  void give_up(uint32_t index, QueuePairUser& user);
  void announce();
  static std::string path_of(const QueuePair& queue_pair);

  Rails& rails_;
  const std::string name_;
  const std::string peer_;
  std::vector<QueuePair> queue_pairs_;
  uint32_t live_ = 0;
  uint32_t next_ = 0;
  double rate_ = 0;  // bytes/s of the channel; 0: no limit
  bool peer_gone_ = false;
  Status status_;
};

}  // namespace weir::verbs
