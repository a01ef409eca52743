// SPDX-License-Identifier: Apache-2.0
/// The layout of a segment for the lane kernels. It depends only on the numbers of ranks and on the size, so
/// both ends of a ring compute the same positions.
///
///     | words of rings | counts of rings to other hosts | code | scratch |
///     | slots of packets | slots of signals | slots of bandwidth |
///
/// Between any two ranks of a host there are rings in each direction: kRings for each protocol, and
/// kSignalRings for plans whose messages have no data. All plans share them: the messages of a ring are in
/// order, whatever plan they belong to, so the counts of both ends continue from plan to plan. Slots, and
/// words that the other end writes, lie in the segment of the rank that reads them.
///
/// Pure; thread-safe.
/// Tests: tests/exec/gpu_segment_table_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/exec/gpu/proxy_rings.h"
#include "src/exec/gpu/queued.h"

namespace weir::exec::gpu {

/// A contiguous range of bytes in a segment.
struct ByteRange {
  size_t at = 0;
  size_t bytes = 0;
};

class GpuSegmentTable {
 public:
  /// The kind of rings that a plan uses.
  enum class Kind : uint8_t { bandwidth, packet, signal };
  static constexpr uint32_t kRings = 16;
  static constexpr uint32_t kSignalRings = 64;  ///< many, as each shard needs one; they need little memory
  static constexpr uint32_t kSlots = 2;
  static constexpr size_t kPacketBytes = 2048;  ///< bytes of data in a message of packets

  /// The numbers of ranks that determine the layout.
  struct Ranks {
    int on_host = 1;  ///< largest number of ranks on one host
    int all = 1;

    static Ranks of(const GpuSegments& segments);
  };

  /// Computes the layout. REQUIRES: bytes >= least_bytes(ranks).
  GpuSegmentTable(const Ranks& ranks, size_t bytes);
  /// The size with the smallest useful slots, kGrainBytes * kSlots; plans do not fit smaller segments.
  static size_t least_bytes(const Ranks& ranks);

  static constexpr uint32_t rings(Kind kind) { return kind == Kind::signal ? kSignalRings : kRings; }
  /// Maximum size of a message in bytes.
  size_t message_bytes(Kind kind) const;
  /// code(): range for programs and ports of this rank's plans. scratch(): range for the private data of
  /// lanes.
  ByteRange code() const { return code_; }
  ByteRange scratch() const { return scratch_; }

  /// One end of ring `ring` between this rank and `peer`, which is on the same host.
  Port port(const GpuSegments& segments, Kind kind, Rank peer, bool outgoing, uint32_t ring) const;
  /// The address of Port::done of a ring to another host.
  uint64_t* count(const GpuSegments& segments, const ProxyRings::End& end) const;

 private:
  /// The words of two rings with one peer, one per direction.
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
