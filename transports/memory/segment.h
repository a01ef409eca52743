// SPDX-License-Identifier: Apache-2.0
/// The segment of a rank: shared memory, one piece per communicator rank, which peers on the same host can
/// map. It holds the doorbell on which the rank sleeps, the exchange area that named fast paths use, and the
/// ring pool where peers put messages.
///
///     | header, doorbell | directory of channels | exchange area | ring pool, sparse |
///
/// One memfd; nothing has a name in any file system, so nothing stays behind whoever dies. Pages that nobody
/// touches cost nothing.
///
/// Writers: the header and directory are written by the owner alone; the exchange area belongs to src/exec,
/// which says there who writes which word; a channel in the ring pool has the writers that memory_channel.h
/// names.
///
/// Thread safety: a Segment is used by one thread at a time; LocalSegments is thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "src/base/types.h"
#include "src/device/shared_memory.h"
#include "transports/memory/ring_pool.h"
#include "transports/memory/segment_view.h"
#include "weir/status.h"

namespace weir {

/// The mapped memory of a segment. Shared by everybody who holds a pointer into it.
using SegmentMemory = std::shared_ptr<device::SharedMemory>;

class Segment {
 public:
  /// `ring_pool_bytes` is address space, not memory: a channel of 4 slots of 64 KiB takes 325 KiB of it.
  struct Spec {
    uint64_t uid = 0;  ///< of the communicator
    Rank rank = 0;
    size_t exchange_area_bytes = 0;
    size_t ring_pool_bytes = size_t{1} << 30;
  };

  /// Makes the segment. Where so much address space is refused, a smaller ring pool is tried, down to 1/256.
  static Result<std::unique_ptr<Segment>> create(const Spec& spec);

  SegmentView view() const { return view_; }
  /// What a peer attaches with.
  const device::ShareHandle& handle() const { return memory_->handle(); }
  const SegmentMemory& memory() const { return memory_; }
  /// Memory that it takes: pages that somebody has touched.
  size_t used_bytes() const { return memory_->used_bytes(); }
  /// Where channels to this rank are made. Receivers use it; it lives as long as the segment.
  RingPool& ring_pool() { return *ring_pool_; }

 private:
  Segment(SegmentMemory memory, const SegmentView& view, std::unique_ptr<RingPool> ring_pool)
      : memory_(std::move(memory)), view_(view), ring_pool_(std::move(ring_pool)) {}

  SegmentMemory memory_;
  SegmentView view_;
  std::unique_ptr<RingPool> ring_pool_;
};

/// The segment of a peer, mapped here.
struct PeerSegment {
  SegmentMemory memory;
  SegmentView view;
  RingPoolView ring_pool;
};

/// Looks at mapped memory as the segment of rank `rank` of communicator `uid`. Refused with a sentence when
/// it is something else, or was made by another version of weir.
Result<PeerSegment> view_peer(SegmentMemory memory, uint64_t uid, Rank rank);

/// The segments of one process: how a rank finds the segment of another rank in its own address space.
/// One object per process, made by whoever owns the communicators; outlives their transports.
class LocalSegments {
 public:
  void add(const SegmentMemory& memory);
  /// Null when this process has no such segment, or has it only by fork from the owner.
  SegmentMemory find(const device::ShareHandle& handle);

 private:
  struct Entry {
    int32_t pid;
    std::weak_ptr<device::SharedMemory> memory;
  };
  std::mutex mutex_;
  std::unordered_map<uint64_t, Entry> entries_;  ///< by token
  size_t tidy_at_ = 64;                          ///< entries: time to drop those of segments that are gone
};

}  // namespace weir
