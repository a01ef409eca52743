// SPDX-License-Identifier: Apache-2.0
/// The open channel ends of a communicator rank: opened on first use, shared by all programs, closed with the
/// communicator.
///
/// Programs run one after the other and leave their channels empty, so two programs may use the same channel.
/// Not thread-safe.
/// Tests: tests/core/links_test.cc
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

/// Number and size of the slots of a channel.
struct SlotShape {
  uint32_t count = 0;  ///< number of messages that it holds
  uint32_t bytes = 0;  ///< the largest message
};

/// Slots of channels: the same on all ranks of a communicator.
struct SlotSizes {
  SlotShape plan;  ///< of channels of plans
  SlotShape pair;  ///< of channels of sends and receives

  /// From the options, or defaults. A message between hosts has a high fixed cost, so plans of ranks on
  /// several hosts get larger slots by default; the cost model chooses how much of a slot to use
  /// (cost::Estimate). So do sends of few ranks on one host, as each message costs a few transfers of cache
  /// lines; many ranks may have very many channels.
  static SlotSizes of(const Options& options, const std::vector<PeerAddress>& peers);
};

class Links {
 public:
  /// `profile` may be null: messages are not profiled. `recorder` may be null: messages are not counted.
  Links(Rank self, const Routes& routes, const SlotSizes& sizes, ProfilerFeed* profile = nullptr,
        Recorder* recorder = nullptr)
      : self_(self), routes_(routes), sizes_(sizes), profile_(profile), recorder_(recorder) {}

  /// LinkSpec::rendezvous_bytes of channels opened from now on.
  void set_rendezvous_bytes(uint32_t bytes) { rendezvous_bytes_ = bytes; }
  /// Opens this rank's end of `channel` unless it is open, with `slots`, which must be the same in every call
  /// for this channel. Never waits for the peer.
  Status open(const exec::Channel& channel, const SlotShape& slots);
  /// True once every open end is ready to carry messages.
  Result<bool> ready();
  /// True if ready() was true since the last open().
  bool settled() const { return opening_senders_.empty() && opening_receivers_.empty(); }
  /// The peer of an end that is not ready yet; REQUIRES: ready() gave false or an error.
  Rank not_ready() const { return not_ready_; }
  /// The peer of the end that the last open() failed to open; -1: it succeeded.
  Rank refused_by() const { return refused_by_; }

  Sender* sender(const exec::Channel& channel) const;
  Receiver* receiver(const exec::Channel& channel) const;
  const SlotSizes& sizes() const { return sizes_; }

 private:
  std::shared_ptr<ChannelCounters> counters(const LinkSpec& spec, bool sends, const Transport& transport);

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
  uint32_t rendezvous_bytes_ = 0;
  Rank not_ready_ = 0;
  Rank refused_by_ = -1;
};

}  // namespace weir::core
