#include "transports/memory_transport.h"

#include <fmt/format.h>

#include "transports/card.h"
#include "transports/memory_channel.h"

namespace weir {
namespace {

constexpr uint32_t kCardVersion = 1;

}  // namespace

Bytes MemoryTransport::card() const {
  if (home_ == nullptr) return {};
  return begin_card(name_, kCardVersion, {self_.rank, self_.host}).put(home_->handle()).take();
}

Reach MemoryTransport::reach(BytesView peer_card) const {
  const Result<PeerHome> found = peer(peer_card);
  if (!found.ok()) return {false, {}, found.status().message()};
  return {true, cost_, {}};
}

Result<PeerHome> MemoryTransport::peer(BytesView peer_card) const {
  if (home_ == nullptr) {
    return Status(Code::invalid_usage, fmt::format("rank {} has no home in shared memory", self_.rank));
  }
  ByteReader reader(peer_card);
  const Result<CardHead> head = read_card(reader, name_, kCardVersion);
  if (!head.ok()) return head.status();
  const auto handle = reader.get<device::ShareHandle>();
  if (!reader.ok()) return short_card(name_, head.value().rank);
  const Rank rank = head.value().rank;
  if (const auto known = peers_.find(rank); known != peers_.end()) {
    if (known->second.memory->handle() == handle) return known->second;
  }
  Result<HomeMemory> memory = bring(handle, head.value().host);
  if (!memory.ok()) return memory.status();
  Result<PeerHome> mapped = view_peer(std::move(*memory), self_.uid, rank);
  if (mapped.ok()) peers_.insert_or_assign(rank, *mapped);
  return mapped;
}

Result<std::unique_ptr<Sender>> MemoryTransport::open_sender(BytesView peer_card, const LinkSpec& spec) {
  Result<PeerHome> mapped = peer(peer_card);
  if (!mapped.ok()) return mapped.status();
  return open_memory_sender(std::move(*mapped), spec);
}

Result<std::unique_ptr<Receiver>> MemoryTransport::open_receiver(BytesView peer_card, const LinkSpec& spec) {
  Result<PeerHome> mapped = peer(peer_card);
  if (!mapped.ok()) return mapped.status();
  return open_memory_receiver(*home_, std::move(*mapped), spec);
}

Result<HomeView> MemoryTransport::map(BytesView peer_card) {
  const Result<PeerHome> mapped = peer(peer_card);
  if (!mapped.ok()) return mapped.status();
  return mapped.value().view;
}

}  // namespace weir
