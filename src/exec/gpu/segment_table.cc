// SPDX-License-Identifier: Apache-2.0

#include "src/exec/gpu/segment_table.h"

#include <algorithm>

#include "src/base/chunks.h"

namespace weir::exec::gpu {
namespace {

constexpr size_t kCodeBytes = size_t{512} << 10;
constexpr size_t kScratchBytes = size_t{512} << 10;
constexpr size_t kPacketRing =
    GpuSegmentTable::kSlots * slot_stride(RingProtocol::packet, GpuSegmentTable::kPacketBytes);
constexpr size_t kSignalSlot = slot_stride(RingProtocol::bandwidth, sizeof(BuffersOfRank));
constexpr size_t kSignalRing = GpuSegmentTable::kSlots * kSignalSlot;
constexpr size_t kRingsOfAPeer = 2 * GpuSegmentTable::kRings + GpuSegmentTable::kSignalRings;

}  // namespace

/// The words of the ring from a peer and of the ring to it. Each cache line has one writer.
struct GpuSegmentTable::Words {
  struct alignas(kLineBytes) {
    uint64_t words[arrived_words(kSlots)];
  } arrived;  ///< words of the ring from the peer; the peer writes them
  struct alignas(kLineBytes) {
    uint64_t word;
  } taken;  ///< word of the ring to the peer; the peer writes it
  struct alignas(kLineBytes) {
    uint64_t received;
    uint64_t sent;
  } done;  ///< words of both rings; this rank writes them
};

GpuSegmentTable::Ranks GpuSegmentTable::Ranks::of(const GpuSegments& segments) {
  const int all = static_cast<int>(segments.at.size());
  if (!segments.has_several_hosts()) return {all, all};
  return {static_cast<int>(*std::max_element(segments.local_ranks.begin(), segments.local_ranks.end())) + 1,
          all};
}

GpuSegmentTable::GpuSegmentTable(const Ranks& ranks, size_t bytes) {
  const size_t peers = static_cast<size_t>(ranks.on_host);
  size_t at = peers * kRingsOfAPeer * sizeof(Words);
  const auto take = [&at](size_t wanted) {
    const ByteRange capacity{at, wanted};
    at = round_up(at + wanted, kLineBytes);
    return capacity;
  };
  if (ranks.all > ranks.on_host)
    counts_at_ = take(static_cast<size_t>(ranks.all) * 2 * ProxyRings::kRings * sizeof(uint64_t)).at;
  code_ = take(kCodeBytes);
  scratch_ = take(kScratchBytes);
  packets_at_ = take(peers * kRings * kPacketRing).at;
  signals_at_ = take(peers * kSignalRings * kSignalRing).at;
  slots_at_ = at;
  const size_t slots = peers * kRings * kSlots;
  slot_bytes_ = bytes > at ? (bytes - at) / slots / kLineBytes * kLineBytes : 0;
}

size_t GpuSegmentTable::least_bytes(const Ranks& ranks) {
  const GpuSegmentTable empty(ranks, 0);
  const size_t least_slot = round_up(kGrainBytes * kSlots * static_cast<size_t>(ranks.all), kLineBytes);
  return empty.slots_at_ + static_cast<size_t>(ranks.on_host) * kRings * kSlots * least_slot;
}

size_t GpuSegmentTable::message_bytes(Kind kind) const {
  switch (kind) {
    case Kind::packet: return kPacketBytes;
    case Kind::signal: return kSignalSlot;
    default: return slot_bytes_;
  }
}

size_t GpuSegmentTable::stride(Kind kind) const {
  return slot_stride(kind == Kind::packet ? RingProtocol::packet : RingProtocol::bandwidth,
                     message_bytes(kind));
}

/// Per peer, the words of bandwidth rings come first, then those of packet rings, then those of signal rings.
size_t GpuSegmentTable::words_at(Kind kind, uint32_t local_rank, uint32_t ring) {
  return (size_t{local_rank} * kRingsOfAPeer + static_cast<size_t>(kind) * kRings + ring) * sizeof(Words);
}

size_t GpuSegmentTable::slots_at(Kind kind, uint32_t local_rank, uint32_t ring) const {
  const size_t number = size_t{local_rank} * rings(kind) + ring;
  switch (kind) {
    case Kind::packet: return packets_at_ + number * kPacketRing;
    case Kind::signal: return signals_at_ + number * kSignalRing;
    default: return slots_at_ + number * kSlots * slot_bytes_;
  }
}

Port GpuSegmentTable::port(const GpuSegments& segments, Kind kind, Rank peer, bool outgoing,
                           uint32_t ring) const {
  const Rank sender = outgoing ? segments.rank : peer;
  const Rank receiver = outgoing ? peer : segments.rank;
  std::byte* const there = segments.at[static_cast<size_t>(receiver)];
  std::byte* const here = segments.at[static_cast<size_t>(sender)];
  const auto number = [&](Rank rank) {
    return segments.has_several_hosts() ? segments.local_ranks[static_cast<size_t>(rank)]
                                        : static_cast<uint32_t>(rank);
  };
  auto* const at_receiver = reinterpret_cast<Words*>(there + words_at(kind, number(sender), ring));
  auto* const at_sender = reinterpret_cast<Words*>(here + words_at(kind, number(receiver), ring));
  Port port;
  port.slots = there + slots_at(kind, number(sender), ring);
  port.arrived = at_receiver->arrived.words;
  port.taken = &at_sender->taken.word;
  port.done = outgoing ? &at_sender->done.sent : &at_receiver->done.received;
  port.count = kSlots;
  port.stride = static_cast<uint32_t>(stride(kind));
  port.peer = static_cast<uint32_t>(peer);
  return port;
}

uint64_t* GpuSegmentTable::count(const GpuSegments& segments, const ProxyRings::End& end) const {
  const size_t number =
      (static_cast<size_t>(end.peer) * 2 + (end.outgoing ? 1 : 0)) * ProxyRings::kRings + end.ring;
  return reinterpret_cast<uint64_t*>(segments.own() + counts_at_) + number;
}

}  // namespace weir::exec::gpu
