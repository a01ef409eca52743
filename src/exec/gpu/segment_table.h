// SPDX-License-Identifier: Apache-2.0
/// How a segment is laid out for the lane kernels: a function of the numbers of ranks and of the bytes, so
/// both ends of a ring find it alike.
///
///     | words of rings | counts of rings to other hosts | code | scratch |
///     | slots of packets | slots of signals | slots of bandwidth |
///
/// Between any two ranks of a host there are rings each way, kRings for each protocol and kSignalRings for
/// plans in which ranks only tell each other things. All plans use them in turn: messages are in order along
/// each, whatever plan they belong to, so the counts of both ends go on from plan to plan. Slots, and the
/// words that the other end writes, lie with who reads them.
///
/// Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/exec/gpu/proxy_rings.h"
#include "src/exec/gpu/queued.h"

namespace weir::exec::gpu {

/// A run of bytes in a segment.
struct ByteRange {
  size_t at = 0;
  size_t bytes = 0;
};

class GpuSegmentTable {
 public:
  /// What a plan's messages go through.
  enum class Kind : uint8_t { bandwidth, packet, signal };
  static constexpr uint32_t kRings = 16;
  static constexpr uint32_t kSignalRings =
      64;  ///< signals take little room, and shards without messages need many
  static constexpr uint32_t kSlots = 2;
  static constexpr size_t kPacketBytes = 2048;  ///< of data in a message of packets

  /// How many segments address each other, and how many ranks there are.
  struct Ranks {
    int on_host = 1;  ///< on the host that has most
    int all = 1;

    static Ranks of(const GpuSegments& segments);
  };

  /// REQUIRES: bytes >= least_bytes(ranks).
  GpuSegmentTable(const Ranks& ranks, size_t bytes);
  /// With slots of kGrainBytes * kSlots, below which plans do not fit.
  static size_t least_bytes(const Ranks& ranks);

  static constexpr uint32_t rings(Kind kind) { return kind == Kind::signal ? kSignalRings : kRings; }
  /// Most bytes of a message.
  size_t message_bytes(Kind kind) const;
  /// Programs and ports of this rank's plans; what lanes keep for themselves.
  ByteRange code() const { return code_; }
  ByteRange scratch() const { return scratch_; }

  /// One end of ring `ring` between the segments' rank and `peer`, of the same host.
  Port port(const GpuSegments& segments, Kind kind, Rank peer, bool outgoing, uint32_t ring) const;
  /// Port::done of a ring to another host.
  uint64_t* count(const GpuSegments& segments, const ProxyRings::End& end) const;

 private:
  /// Of rings with one peer, one way round each.
  struct Words;
  static size_t words_at(Kind kind, uint32_t local_rank, uint32_t ring);
  size_t slots_at(Kind kind, uint32_t local_rank, uint32_t ring) const;
  size_t stride(Kind kind) const;

  size_t counts_at_ = 0;
  ByteRange code_;
  ByteRange scratch_;
  size_t packets_at_ = 0;
  size_t signals_at_ = 0;
  size_t slots_at_ = 0;
  size_t slot_bytes_ = 0;
};

}  // namespace weir::exec::gpu
