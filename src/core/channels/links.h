// SPDX-License-Identifier: Apache-2.0
/// The open channel ends of a communicator rank: opened on first use, shared by all programs, closed with it.
///
/// Programs run one after the other and leave their channels empty, so two programs may use the same channel.
/// Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <tuple>

#include "src/base/options.h"
#include "src/core/channels/routes.h"
#include "src/core/diagnosis/watchdog.h"
#include "src/exec/lane.h"
#include "src/exec/program.h"

namespace weir::core {

class ProfilerFeed;

/// What channels hold: the same on all ranks of a communicator.
struct SlotSizes {
  uint32_t slots = 0;       ///< messages
  uint32_t plan_bytes = 0;  ///< most bytes of a message of a plan
  uint32_t pair_bytes = 0;  ///< of a send: a rank may have channels to very many others

  /// As the options say. Where they do not: between hosts a message is much work, whatever its size, so plans
  /// of ranks on several hosts have room for larger ones. How much of it they take follows from costs
  /// (cost::Estimate).
  static SlotSizes of(const Options& options, const std::vector<PeerAddress>& peers);
};

class Links {
 public:
  /// `profile` may be null: nobody is told of messages. `recorder` may be null: nobody counts them.
  Links(Rank self, const Routes& routes, const SlotSizes& sizes, ProfilerFeed* profile = nullptr,
        Recorder* recorder = nullptr)
      : self_(self), routes_(routes), sizes_(sizes), profile_(profile), recorder_(recorder) {}

  /// Opens what `channel` needs and was not open, for messages of at most `slot_bytes`: the same whenever it
  /// is asked for. Never waits for the peer.
  Status open(const exec::Channel& channel, uint32_t slot_bytes);
  /// True once every open end works.
  Result<bool> ready();
  /// True if ready() was true since the last open().
  bool settled() const { return opening_senders_.empty() && opening_receivers_.empty(); }
  /// The peer of an end that is not ready yet; REQUIRES: ready() gave false or an error.
  Rank not_ready() const { return not_ready_; }
  /// The peer of the end that the last open() could not open; -1: it could.
  Rank refused_by() const { return refused_by_; }

  Sender* sender(const exec::Channel& channel) const;
  Receiver* receiver(const exec::Channel& channel) const;
  const SlotSizes& sizes() const { return sizes_; }

 private:
  std::shared_ptr<ChannelCounters> counters(const LinkSpec& spec, bool sends,
                                            const Transport& transport) const;

  using Key = std::tuple<Rank, uint32_t>;  // peer, number
  static constexpr uint32_t kSignalBytes = 64;

  const Rank self_;
  const Routes& routes_;
  const SlotSizes sizes_;
  ProfilerFeed* const profile_;
  Recorder* const recorder_;
  std::map<Key, std::unique_ptr<Sender>> senders_;
  std::map<Key, std::unique_ptr<Receiver>> receivers_;
  std::vector<std::pair<Rank, Sender*>> opening_senders_;
  std::vector<std::pair<Rank, Receiver*>> opening_receivers_;
  Rank not_ready_ = 0;
  Rank refused_by_ = -1;
};

}  // namespace weir::core
