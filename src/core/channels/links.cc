// SPDX-License-Identifier: Apache-2.0

#include "src/core/channels/links.h"

#include <algorithm>

#include "src/core/channels/counting.h"
#include "src/core/channels/profiler_feed.h"

namespace weir::core {
namespace {

/// Polls every end once and drops those that are ready. True if none is left; otherwise, or on an error, sets
/// `peer` to one that is not ready.
template <typename End>
Result<bool> all_ready(std::vector<std::pair<Rank, End*>>& opening, Rank& peer) {
  for (size_t i = opening.size(); i-- > 0;) {
    auto ready = opening[i].second->ready();
    if (!ready.ok() || !*ready) peer = opening[i].first;
    WEIR_TRY(ready.status());
    if (*ready) opening.erase(opening.begin() + static_cast<ptrdiff_t>(i));
  }
  return opening.empty();
}

}  // namespace

SlotSizes SlotSizes::of(const Options& options, const std::vector<PeerAddress>& peers) {
  constexpr uint32_t kSmall = 64 << 10;
  constexpr uint32_t kLarge = 256 << 10;
  constexpr size_t kFewRanks = 8;  // all their channels fit the 64 MB of /dev/shm that containers have
  const auto slots = static_cast<uint32_t>(options.slots);
  if (options.slot_bytes > 0) {
    const auto said = static_cast<uint32_t>(options.slot_bytes);
    return {{slots, said}, {slots, said}};
  }
  const bool one_host =
      std::ranges::all_of(peers, [&](const PeerAddress& peer) { return peer.host == peers.front().host; });
  const bool few = one_host && peers.size() <= kFewRanks;
  return {{slots, one_host ? kSmall : kLarge},
          few ? SlotShape{std::min(slots, 2u), kLarge} : SlotShape{slots, kSmall}};
}

std::shared_ptr<ChannelCounters> Links::counters(const LinkSpec& spec, bool sends,
                                                 const Transport& transport) {
  if (recorder_ == nullptr) return nullptr;
  return recorder_->add_channel(spec.peer, spec.channel, sends, std::string(transport.name()));
}

Status Links::open(const exec::Channel& channel, const SlotShape& slots) {
  const Key key{channel.peer, channel.number};
  const Route& route = routes_.to(channel.peer);
  LinkSpec spec{self_, channel.peer, channel.number, slots.count,
                channel.chunks > 0 ? slots.bytes : kSignalBytes};
  spec.rendezvous_bytes = rendezvous_bytes_;
  refused_by_ = channel.peer;  // until the opening has succeeded
  if (channel.outgoing && !senders_.contains(key)) {
    auto end = route.transport->open_sender(route.address, spec);
    WEIR_TRY(end.status());
    if (profile_ != nullptr) *end = profile_->profiled(std::move(*end), spec);
    *end = counting(std::move(*end), counters(spec, true, *route.transport));
    opening_senders_.emplace_back(channel.peer, end->get());
    senders_[key] = std::move(*end);
  }
  if (!channel.outgoing && !receivers_.contains(key)) {
    auto end = route.transport->open_receiver(route.address, spec);
    WEIR_TRY(end.status());
    if (profile_ != nullptr) *end = profile_->profiled(std::move(*end), spec);
    *end = counting(std::move(*end), counters(spec, false, *route.transport));
    opening_receivers_.emplace_back(channel.peer, end->get());
    receivers_[key] = std::move(*end);
  }
  refused_by_ = -1;
  return {};
}

Result<bool> Links::ready() {
  auto receivers = all_ready(opening_receivers_, not_ready_);
  WEIR_TRY(receivers.status());
  auto senders = all_ready(opening_senders_, not_ready_);
  WEIR_TRY(senders.status());
  return *receivers && *senders;
}

Sender* Links::sender(const exec::Channel& channel) const {
  const auto found = senders_.find({channel.peer, channel.number});
  return channel.outgoing && found != senders_.end() ? found->second.get() : nullptr;
}

Receiver* Links::receiver(const exec::Channel& channel) const {
  const auto found = receivers_.find({channel.peer, channel.number});
  return !channel.outgoing && found != receivers_.end() ? found->second.get() : nullptr;
}

}  // namespace weir::core
