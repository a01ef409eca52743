// SPDX-License-Identifier: Apache-2.0

#include "src/exec/gpu/proxy_rings.h"

#include <algorithm>
#include <utility>

namespace weir::exec::gpu {
namespace {

size_t ends_of(size_t peers) { return peers * 2 * ProxyRings::kRings; }

}  // namespace

/// The words of one end; each cache line has one writer.
struct ProxyRings::Words {
  struct alignas(kLineBytes) {
    uint64_t words[arrived_words(kSlots)];
  } arrived;
  struct alignas(kLineBytes) {
    uint64_t word;
  } taken;
};

ProxyRings::ProxyRings(std::vector<Rank> peers, size_t slot_bytes)
    : peers_(std::move(peers)),
      slot_bytes_(slot_bytes),
      placed_(2 * peers_.size(), nullptr),
      wanted_(ends_of(peers_.size())) {}

size_t ProxyRings::slots_bytes() const { return ends_of(peers_.size()) * kSlots * slot_bytes_; }
size_t ProxyRings::bytes() const { return ends_of(peers_.size()) * sizeof(Words) + slots_bytes(); }

void ProxyRings::bind(std::byte* host, std::byte* on_gpu) {
  host_ = host;
  on_gpu_ = on_gpu;
}

void ProxyRings::place_slots(Rank peer, bool outgoing, std::byte* slots) {
  placed_[way_of(peer, outgoing)] = slots;
}

bool ProxyRings::is_placed(const End& end) const {
  return placed_[way_of(end.peer, end.outgoing)] != nullptr;
}

/// The index of a direction: to a peer, or from it.
size_t ProxyRings::way_of(Rank peer, bool outgoing) const {
  const auto place = std::find(peers_.begin(), peers_.end(), peer) - peers_.begin();
  return static_cast<size_t>(place) * 2 + (outgoing ? 1 : 0);
}

size_t ProxyRings::number_of(const End& end) const {
  return way_of(end.peer, end.outgoing) * kRings + end.ring;
}

/// Memory layout: all words come first, then all slots.
Port ProxyRings::port(std::byte* memory, const End& end) const {
  const size_t number = number_of(end);
  auto* const words = reinterpret_cast<Words*>(memory) + number;
  Port port;
  std::byte* const placed = placed_[way_of(end.peer, end.outgoing)];
  port.slots = (placed != nullptr ? placed : memory + ends_of(peers_.size()) * sizeof(Words)) +
               number * kSlots * slot_bytes_;
  port.arrived = words->arrived.words;
  port.taken = &words->taken.word;
  port.count = kSlots;
  port.stride = static_cast<uint32_t>(slot_bytes_);
  port.peer = static_cast<uint32_t>(end.peer);
  return port;
}

void ProxyRings::want(const End& end) {
  if (wanted_[number_of(end)].exchange(true, std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  news_.push_back(end);
}

std::vector<ProxyRings::End> ProxyRings::newly_wanted() {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

}  // namespace weir::exec::gpu
