#include "src/core/links.h"

namespace weir::core {
namespace {

/// Polls every end once and drops those that are ready. True if none is left; else, or on an error, `peer` is
/// one that is not.
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

Status Links::open(const exec::Channel& channel) {
  const Key key{channel.peer, channel.number};
  const Route& route = routes_.to(channel.peer);
  const LinkSpec spec{self_, channel.peer, channel.number, slots_,
                      channel.chunks > 0 ? slot_bytes_ : kSignalBytes};
  if (channel.outgoing && !senders_.contains(key)) {
    auto end = route.transport->open_sender(route.card, spec);
    WEIR_TRY(end.status());
    opening_senders_.emplace_back(channel.peer, end->get());
    senders_[key] = std::move(*end);
  }
  if (!channel.outgoing && !receivers_.contains(key)) {
    auto end = route.transport->open_receiver(route.card, spec);
    WEIR_TRY(end.status());
    opening_receivers_.emplace_back(channel.peer, end->get());
    receivers_[key] = std::move(*end);
  }
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
