// SPDX-License-Identifier: Apache-2.0

#include "transports/memory/segment.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <new>

#include "src/base/doorbell.h"

namespace weir {
namespace {

constexpr uint64_t kSegmentMagic = 0x656d6f6872696577;  // "weirhome"
constexpr uint32_t kVersion = 3;                        // format of everything in a segment
constexpr size_t kPage = 4096;
constexpr size_t kSmallestShare = 256;  // the ring pool has at least 1/256 of the requested size

constexpr size_t whole_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

/// Header of a segment. Written once by the owner before anybody else knows the segment.
struct SegmentHeader {
  uint64_t magic;
  uint32_t version;
  Rank rank;
  uint64_t uid;
  uint64_t exchange_area_offset;
  uint64_t exchange_area_bytes;
  uint64_t ring_pool_offset;
  uint64_t ring_pool_bytes;
  Doorbell doorbell;  // on its own cache line
};

constexpr size_t kDirectoryOffset = whole_pages(sizeof(SegmentHeader));
constexpr size_t kDirectoryBytes = kDirectoryEntries * sizeof(DirectoryEntry);

SegmentHeader* header_of(const device::SharedMemory& memory) {
  return reinterpret_cast<SegmentHeader*>(memory.data());
}

/// The places of a segment's parts. Read from its header once, as its owner can write there at any time.
struct SegmentLayout {
  uint64_t exchange_area_offset;
  uint64_t exchange_area_bytes;
  uint64_t ring_pool_offset;
  uint64_t ring_pool_bytes;
};

SegmentLayout layout_of(const device::SharedMemory& memory) {
  const volatile SegmentHeader* header = header_of(memory);
  return {header->exchange_area_offset, header->exchange_area_bytes, header->ring_pool_offset,
          header->ring_pool_bytes};
}

SegmentView segment_view(const device::SharedMemory& memory, const SegmentLayout& layout) {
  return {&header_of(memory)->doorbell, memory.data() + layout.exchange_area_offset,
          layout.exchange_area_bytes, memory.data()};
}

RingPoolView ring_pool_view(const device::SharedMemory& memory, const SegmentLayout& layout) {
  return {reinterpret_cast<DirectoryEntry*>(memory.data() + kDirectoryOffset),
          memory.data() + layout.ring_pool_offset, layout.ring_pool_bytes};
}

/// Whether the parts are disjoint, in order, and inside `size` bytes.
bool sound(const SegmentLayout& layout, size_t size) {
  return layout.exchange_area_offset == kDirectoryOffset + kDirectoryBytes &&
         layout.exchange_area_bytes <= size &&
         layout.ring_pool_offset == layout.exchange_area_offset + whole_pages(layout.exchange_area_bytes) &&
         layout.ring_pool_bytes <= size && layout.ring_pool_offset <= size - layout.ring_pool_bytes;
}

/// The bytes that a segment may have if `segments` of them shall take at most half of the address space that
/// is left to this process.
size_t fair_bytes(size_t segments) {
  rlimit limit{};
  uint64_t pages = 0;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  if (!(std::ifstream("/proc/self/statm") >> pages)) return SIZE_MAX;
  const uint64_t used = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return limit.rlim_cur > used ? (limit.rlim_cur - used) / 2 / std::max<size_t>(segments, 1) : 0;
}

Result<device::SharedMemory> reserve(size_t fixed, size_t wanted, size_t& ring_pool_bytes) {
  const size_t least = std::max(whole_pages(wanted / kSmallestShare), kPage);
  for (ring_pool_bytes = std::max(whole_pages(wanted), kPage);;
       ring_pool_bytes = std::max(whole_pages(ring_pool_bytes / 4), least)) {
    Result<device::SharedMemory> memory = device::SharedMemory::create(fixed + ring_pool_bytes);
    if (memory.ok() || ring_pool_bytes <= least) return memory;
  }
}

}  // namespace

Result<std::unique_ptr<Segment>> Segment::create(const Spec& spec) {
  const size_t fixed = kDirectoryOffset + kDirectoryBytes + whole_pages(spec.exchange_area_bytes);
  size_t ring_pool_bytes = 0;
  const size_t fair = fair_bytes(spec.neighbours);
  const size_t wanted = std::min(spec.ring_pool_bytes, fair > fixed ? fair - fixed : 0);
  Result<device::SharedMemory> segment = reserve(fixed, wanted, ring_pool_bytes);
  if (!segment.ok()) return segment.status();
  auto memory = std::make_shared<device::SharedMemory>(std::move(*segment));
  auto* header = new (memory->data()) SegmentHeader{
      .magic = kSegmentMagic,
      .version = kVersion,
      .rank = spec.rank,
      .uid = spec.uid,
      .exchange_area_offset = kDirectoryOffset + kDirectoryBytes,
      .exchange_area_bytes = spec.exchange_area_bytes,
      .ring_pool_offset = fixed,
      .ring_pool_bytes = ring_pool_bytes,
      .doorbell = {},
  };
  static_cast<void>(header);
  const SegmentLayout layout = layout_of(*memory);
  const SegmentView view = segment_view(*memory, layout);
  auto ring_pool = std::make_unique<RingPool>(ring_pool_view(*memory, layout));
  return std::unique_ptr<Segment>(new Segment(std::move(memory), view, std::move(ring_pool)));
}

Result<PeerSegment> view_peer(SegmentMemory memory, uint64_t uid, Rank rank) {
  const SegmentHeader* header = header_of(*memory);
  if (memory->size() < kDirectoryOffset || header->magic != kSegmentMagic) {
    return Status(Code::remote_error,
                  fmt::format("the shared memory of rank {} is not a segment of weir", rank));
  }
  if (header->version != kVersion) {
    return Status(Code::remote_error,
                  fmt::format("the segment of rank {} has format {}; expected format {}; run the same "
                              "version of weir on all ranks",
                              rank, header->version, kVersion));
  }
  const SegmentLayout layout = layout_of(*memory);
  if (header->uid != uid || header->rank != rank || !sound(layout, memory->size())) {
    return Status(
        Code::remote_error,
        fmt::format(
            "the memory shared under the name of rank {} of communicator {:x} is the segment of rank {} "
            "of communicator {:x}",
            rank, uid, header->rank, header->uid));
  }
  const SegmentView view = segment_view(*memory, layout);
  const RingPoolView ring_pool = ring_pool_view(*memory, layout);
  return PeerSegment{std::move(memory), view, ring_pool};
}

void LocalSegments::add(const SegmentMemory& memory) {
  const std::lock_guard lock(mutex_);
  if (entries_.size() >= tidy_at_) {
    std::erase_if(entries_, [](const auto& entry) { return entry.second.memory.expired(); });
    tidy_at_ = std::max<size_t>(64, 2 * entries_.size());
  }
  entries_.insert_or_assign(memory->handle().token, Entry{getpid(), memory});
}

SegmentMemory LocalSegments::find(const device::ShareHandle& handle) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(handle.token);
  return found == entries_.end() || found->second.pid != getpid() ? nullptr : found->second.memory.lock();
}

}  // namespace weir
