// SPDX-License-Identifier: Apache-2.0

#include "transports/memory/transport.h"

#include <fmt/format.h>

#include "transports/address.h"
#include "transports/memory/channel.h"

namespace weir {
namespace {

constexpr uint32_t kMemoryAddressVersion = 2;
// Half a round trip, and bandwidth of a stream of 64 KiB messages between two cores with two copies.
constexpr Cost kMemoryCost = {.latency_us = 0.15, .gigabytes_per_s = 30};

}  // namespace

Bytes MemoryTransport::address() const {
  if (segment_ == nullptr) return {};
  return begin_address(name_, kMemoryAddressVersion, {self_.rank, self_.host}).put(segment_->handle()).take();
}

Reach MemoryTransport::reach(BytesView peer_address) const {
  const Result<Owner> owner = read(peer_address);
  if (!owner.ok()) return {false, {}, owner.status().message()};
  if (known(owner.value()) == nullptr) {
    // Do not map the segment yet, because most ranks communicate with few of many peers.
    if (Status found = probe(owner->handle, owner->host); !found.ok()) return {false, {}, found.message()};
  }
  return {true, kMemoryCost, {}};
}

Result<MemoryTransport::Owner> MemoryTransport::read(BytesView peer_address) const {
  if (segment_ == nullptr) {
    return Status(Code::invalid_usage, fmt::format("rank {} has no segment in shared memory{}{}", self_.rank,
                                                   why_none_.empty() ? "" : ": ", why_none_));
  }
  ByteReader reader(peer_address);
  const Result<AddressHead> head = read_address(reader, name_, kMemoryAddressVersion);
  if (!head.ok()) return head.status();
  const auto handle = reader.get<device::ShareHandle>();
  if (!reader.ok()) return short_address(name_, head->rank);
  return Owner{head->rank, head->host, handle};
}

const PeerSegment* MemoryTransport::known(const Owner& owner) const {
  const auto found = peers_.find(owner.rank);
  return found != peers_.end() && found->second.memory->handle() == owner.handle ? &found->second : nullptr;
}

Result<PeerSegment> MemoryTransport::peer(BytesView peer_address) const {
  const Result<Owner> owner = read(peer_address);
  if (!owner.ok()) return owner.status();
  if (const PeerSegment* mapped = known(owner.value()); mapped != nullptr) return *mapped;
  Result<SegmentMemory> memory = bring(owner->handle, owner->host);
  if (!memory.ok()) return memory.status();
  Result<PeerSegment> mapped = view_peer(std::move(*memory), self_.uid, owner->rank);
  if (mapped.ok()) peers_.insert_or_assign(owner->rank, *mapped);
  return mapped;
}

Result<std::unique_ptr<Sender>> MemoryTransport::open_sender(BytesView peer_address, const LinkSpec& spec) {
  Result<PeerSegment> mapped = peer(peer_address);
  if (!mapped.ok()) return mapped.status();
  return open_memory_sender(std::move(*mapped), spec, registry_);
}

Result<std::unique_ptr<Receiver>> MemoryTransport::open_receiver(BytesView peer_address,
                                                                 const LinkSpec& spec) {
  Result<PeerSegment> mapped = peer(peer_address);
  if (!mapped.ok()) return mapped.status();
  return open_memory_receiver(*segment_, std::move(*mapped), spec, attached_);
}

Result<SegmentView> MemoryTransport::map(BytesView peer_address) {
  const Result<PeerSegment> mapped = peer(peer_address);
  if (!mapped.ok()) return mapped.status();
  return mapped.value().view;
}

}  // namespace weir
