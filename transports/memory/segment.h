// SPDX-License-Identifier: Apache-2.0
/// The segment of a rank: shared memory, one area per communicator rank, which peers on the same host can
/// map. It holds the doorbell on which the rank sleeps, the exchange area for shm collectives, and the ring
/// pool into which peers write messages.
///
///     | header, doorbell | directory of channels | exchange area | ring pool, sparse |
///
/// It is one memfd, without a name in any file system, so that nothing remains after a crash. Pages that are
/// not touched use no memory.
///
/// Writers: only the owner writes the header and the directory; src/exec defines the writers of the words in
/// the exchange area, and memory/channel.h those of a channel in the ring pool.
///
/// Thread safety: a Segment is used by one thread at a time; LocalSegments is thread-safe.
/// Tests: tests/transports/segment_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "src/base/status.h"
#include "src/base/types.h"
#include "src/device/shared_memory.h"
#include "transports/memory/ring_pool.h"
#include "transports/memory/segment_view.h"

namespace weir {

/// The mapped memory of a segment, shared by all holders of a pointer into it.
using SegmentMemory = std::shared_ptr<device::SharedMemory>;

class Segment {
 public:
  /// `ring_pool_bytes` is address space, not memory: a channel of 4 slots of 64 KiB uses 325 KiB of it.
  struct Spec {
    uint64_t uid = 0;  ///< id of the communicator
    Rank rank = 0;
    size_t exchange_area_bytes = 0;
    size_t ring_pool_bytes = size_t{1} << 30;
    /// Number of segments, this one included, that this process maps at once: each is made so small that all
    /// of them fit where its address space is limited (ulimit -v).
    size_t neighbours = 1;
  };

  /// Creates the segment. If the system refuses that much address space, tries smaller ring pools, down to
  /// 1/256.
  static Result<std::unique_ptr<Segment>> create(const Spec& spec);

  SegmentView view() const { return view_; }
  /// Handle with which a peer maps the segment.
  const device::ShareHandle& handle() const { return memory_->handle(); }
  const SegmentMemory& memory() const { return memory_; }
  /// Memory in use: pages that were touched; bytes.
  size_t used_bytes() const { return memory_->used_bytes(); }
  /// Receivers create the channels to this rank in it; it lives as long as the segment.
  RingPool& ring_pool() { return *ring_pool_; }

 private:
  Segment(SegmentMemory memory, const SegmentView& view, std::unique_ptr<RingPool> ring_pool)
      : memory_(std::move(memory)), view_(view), ring_pool_(std::move(ring_pool)) {}

  SegmentMemory memory_;
  SegmentView view_;
  std::unique_ptr<RingPool> ring_pool_;
};

/// The segment of a peer, mapped into this process.
struct PeerSegment {
  SegmentMemory memory;
  SegmentView view;
  RingPoolView ring_pool;
};

/// Interprets mapped memory as the segment of rank `rank` of communicator `uid`. Fails if it is something
/// else, or was created by another version of weir.
Result<PeerSegment> view_peer(SegmentMemory memory, uint64_t uid, Rank rank);

/// The segments of one process: a rank finds the segment of another rank of its process here. One object per
/// process, created by the owner of the communicators; outlives their transports.
class LocalSegments {
 public:
  void add(const SegmentMemory& memory);
  /// Null if this process has no such segment, or only inherited it by fork.
  SegmentMemory find(const device::ShareHandle& handle);

 private:
  struct Entry {
    int32_t pid;
    std::weak_ptr<device::SharedMemory> memory;
  };
  std::mutex mutex_;
  std::unordered_map<uint64_t, Entry> entries_;  ///< key: token of the segment
  size_t tidy_at_ = 64;  ///< number of entries at which entries of destroyed segments are removed
};

}  // namespace weir
