// SPDX-License-Identifier: Apache-2.0

#include "src/device/host_memory.h"

#include <fmt/format.h>
#include <unistd.h>

namespace weir::device {
namespace {

constexpr size_t kHugeBytes = size_t{4} << 20;

uint64_t pack(BlockId id) { return uint64_t{id.generation} << 32 | id.slot; }
BlockId unpack(uint64_t word) { return {static_cast<uint32_t>(word), static_cast<uint32_t>(word >> 32)}; }

}  // namespace

MemoryRegistry::MemoryRegistry() : page_mask_(static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)) - 1) {}
MemoryRegistry::~MemoryRegistry() = default;

Result<void*> MemoryRegistry::allocate(size_t bytes) {
  Result<SharedMemory> memory =
      SharedMemory::create(bytes, bytes >= kHugeBytes ? Pages::huge : Pages::normal);
  if (!memory.ok()) return memory.status();
  const std::lock_guard lock(mutex_);
  const auto begin = reinterpret_cast<uintptr_t>(memory->data());
  const uintptr_t end = begin + memory->size();
  const Result<BlockId> block = add(std::move(*memory), begin, end);
  if (!block.ok()) return block.status();
  return reinterpret_cast<void*>(begin);
}

Result<BlockId> MemoryRegistry::adopt(const void* data, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const std::lock_guard lock(mutex_);
  const uint32_t position = position_of(begin);
  const auto word = [](const std::atomic<uintptr_t>& w) { return w.load(std::memory_order_relaxed); };
  if (position < used_.load(std::memory_order_relaxed)) {
    const Range& next = ranges_[position];
    const BlockId id = unpack(next.block.load(std::memory_order_relaxed));
    uint32_t& adopted = blocks_[id.slot].adopted;
    if (word(next.begin) == begin && word(next.end) - begin == bytes && adopted > 0) {
      ++adopted;
      return id;
    }
  }
  const bool overlaps_next =
      position < used_.load(std::memory_order_relaxed) && word(ranges_[position].begin) - begin < bytes;
  const bool overlaps_last = position > 0 && word(ranges_[position - 1].end) > begin;
  if (overlaps_next || overlaps_last) {
    return Status(
        Code::invalid_argument,
        fmt::format("{} bytes at {} overlap memory that is already allocated or registered for peers", bytes,
                    data));
  }
  Result<SharedMemory> memory = SharedMemory::adopt(data, bytes);
  if (!memory.ok()) return memory.status();
  Result<BlockId> block = add(std::move(*memory), begin, begin + bytes);
  if (block.ok()) blocks_[block->slot].adopted = 1;
  return block;
}

void MemoryRegistry::forget(BlockId block) {
  SharedMemory memory;
  const std::lock_guard lock(mutex_);
  if (--blocks_[block.slot].adopted > 0) return;
  uint32_t position = 0;
  while (unpack(ranges_[position].block.load(std::memory_order_relaxed)) != block) ++position;
  drop(position, memory);
}

/// Adds `memory` as a block; find() then finds addresses in [begin, end).
Result<BlockId> MemoryRegistry::add(SharedMemory memory, uintptr_t begin, uintptr_t end) {
  if (free_slots_.empty() && blocks_.size() == kMaxBlocks) {
    return Status(
        Code::system_error,
        fmt::format("{} blocks of shared memory are in use; expected at most that many", kMaxBlocks));
  }
  if (ranges_ == nullptr) ranges_ = std::make_unique<Range[]>(kMaxBlocks);
  uint32_t slot = static_cast<uint32_t>(blocks_.size());
  if (free_slots_.empty()) {
    blocks_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  Block& block = blocks_[slot];
  block.memory = std::move(memory);
  block.adopted = 0;
  const BlockId id{slot, ++block.generation};
  insert(begin, end, id);
  return id;
}

/// Removes the block at `position` of the list and gives its memory to the caller.
void MemoryRegistry::drop(uint32_t position, SharedMemory& memory) {
  const BlockId id = unpack(ranges_[position].block.load(std::memory_order_relaxed));
  remove(position);
  memory = std::move(blocks_[id.slot].memory);
  free_slots_.push_back(id.slot);
}

Status MemoryRegistry::free(void* base) {
  SharedMemory memory;  // unmapped after the lock is released
  const std::lock_guard lock(mutex_);
  const auto begin = reinterpret_cast<uintptr_t>(base);
  const uint32_t position = position_of(begin);
  const bool found = position < used_.load(std::memory_order_relaxed) &&
                     ranges_[position].begin.load(std::memory_order_relaxed) == begin;
  if (!found || blocks_[unpack(ranges_[position].block.load(std::memory_order_relaxed)).slot].adopted > 0) {
    return Status(Code::invalid_argument,
                  fmt::format("cannot free {}; expected an address that ncclMemAlloc returned", base));
  }
  drop(position, memory);
  return {};
}

Located MemoryRegistry::locate(const void* data, size_t bytes) const {
  const auto at = reinterpret_cast<uintptr_t>(data);
  while (true) {
    const uint64_t version = version_.load(std::memory_order_acquire);
    const uint32_t used = used_.load(std::memory_order_acquire);
    uint32_t low = 0;
    uint32_t high = used;
    while (low < high) {  // finds the first range that ends after `at`
      const uint32_t middle = (low + high) / 2;
      if (ranges_[middle].end.load(std::memory_order_acquire) > at) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    uint64_t block = 0;
    size_t offset = 0;
    if (low < used) {
      const uintptr_t begin = ranges_[low].begin.load(std::memory_order_acquire);
      const uintptr_t end = ranges_[low].end.load(std::memory_order_acquire);
      if (begin <= at && at < end && bytes <= end - at) {
        block = ranges_[low].block.load(std::memory_order_acquire);
        offset = at - (begin & ~page_mask_);  // a block's memory begins at a page boundary
      }
    }
    if (version % 2 == 0 && version_.load(std::memory_order_relaxed) == version)
      return {unpack(block), offset};
  }
}

std::optional<ShareHandle> MemoryRegistry::handle(BlockId block) const {
  const std::lock_guard lock(mutex_);
  if (block.slot >= blocks_.size() || blocks_[block.slot].generation != block.generation) return std::nullopt;
  if (blocks_[block.slot].memory.data() == nullptr) return std::nullopt;
  return blocks_[block.slot].memory.handle();
}

size_t MemoryRegistry::count() const { return used_.load(std::memory_order_acquire); }

/// The position of `begin` in the sorted list, or where it would be inserted.
uint32_t MemoryRegistry::position_of(uintptr_t begin) const {
  uint32_t position = 0;
  const uint32_t used = used_.load(std::memory_order_relaxed);
  while (position < used && ranges_[position].begin.load(std::memory_order_relaxed) < begin) ++position;
  return position;
}

// The stores below have release order, so that a reader who sees one of them also sees the odd version.

void MemoryRegistry::assign(Range& to, const Range& from) {
  to.begin.store(from.begin.load(std::memory_order_relaxed), std::memory_order_release);
  to.end.store(from.end.load(std::memory_order_relaxed), std::memory_order_release);
  to.block.store(from.block.load(std::memory_order_relaxed), std::memory_order_release);
}

void MemoryRegistry::insert(uintptr_t begin, uintptr_t end, BlockId id) {
  const uint32_t position = position_of(begin);
  const uint32_t used = used_.load(std::memory_order_relaxed);
  version_.fetch_add(1, std::memory_order_relaxed);
  for (uint32_t i = used; i > position; --i) assign(ranges_[i], ranges_[i - 1]);
  ranges_[position].begin.store(begin, std::memory_order_release);
  ranges_[position].end.store(end, std::memory_order_release);
  ranges_[position].block.store(pack(id), std::memory_order_release);
  used_.store(used + 1, std::memory_order_release);
  version_.fetch_add(1, std::memory_order_release);
}

void MemoryRegistry::remove(uint32_t position) {
  const uint32_t used = used_.load(std::memory_order_relaxed);
  version_.fetch_add(1, std::memory_order_relaxed);
  for (uint32_t i = position; i + 1 < used; ++i) assign(ranges_[i], ranges_[i + 1]);
  used_.store(used - 1, std::memory_order_release);
  version_.fetch_add(1, std::memory_order_release);
}

}  // namespace weir::device
