// SPDX-License-Identifier: Apache-2.0

#include "src/core/bootstrap/bootstrap_all_gather.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace weir::core {
namespace {

/// The live entry of `known` under `key`, or else a new one from `make`; entries die with their last user.
template <typename Known, typename Make>
auto find_or_make(Known& known, const typename Known::key_type& key, Make make) {
  auto& place = known[key];
  auto found = place.lock();
  if (found != nullptr) return found;
  place = found = make();
  std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
  return found;
}

/// An address as bytes, usable as a key of a set.
std::string_view key_of(const SocketAddress& listener) {
  return {reinterpret_cast<const char*>(&listener), sizeof listener};
}

}  // namespace

std::shared_ptr<BootstrapAllGathers::Meeting> BootstrapAllGathers::enter(uint64_t uid, uint32_t number) {
  const std::lock_guard lock(mutex_);
  return find_or_make(meetings_, {uid, number}, [] { return std::make_shared<Meeting>(); });
}

std::shared_ptr<const std::vector<PeerAddress>> BootstrapAllGathers::share(uint64_t uid,
                                                                           std::vector<PeerAddress> peers) {
  const std::lock_guard lock(mutex_);
  return find_or_make(peers_, uid,
                      [&] { return std::make_shared<const std::vector<PeerAddress>>(std::move(peers)); });
}

RanksByProcess RanksByProcess::of(const std::vector<PeerAddress>& peers, Rank self) {
  const SocketAddress& own = peers[static_cast<size_t>(self)].listener;
  const auto first = std::ranges::find(peers, own, &PeerAddress::listener);
  RanksByProcess by_process;
  by_process.speaker = static_cast<Rank>(first - peers.begin());
  if (by_process.speaker != self) return by_process;
  std::set<std::string_view> seen;
  for (Rank rank = 0; rank < static_cast<Rank>(peers.size()); ++rank) {
    const SocketAddress& listener = peers[static_cast<size_t>(rank)].listener;
    if (listener == own) by_process.here.push_back(rank);
    if (seen.insert(key_of(listener)).second) by_process.speakers.push_back(rank);
  }
  return by_process;
}

}  // namespace weir::core
