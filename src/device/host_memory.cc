#include "src/device/host_memory.h"

#include <fmt/format.h>

namespace weir::device {
namespace {

constexpr size_t kHugeBytes = size_t{4} << 20;

uint64_t pack(BlockId id) { return uint64_t{id.generation} << 32 | id.slot; }
BlockId unpack(uint64_t word) { return {static_cast<uint32_t>(word), static_cast<uint32_t>(word >> 32)}; }

}  // namespace

MemoryRegistry::MemoryRegistry() = default;
MemoryRegistry::~MemoryRegistry() = default;

Result<void*> MemoryRegistry::allocate(size_t bytes) {
  Result<SharedMemory> memory =
      SharedMemory::create(bytes, bytes >= kHugeBytes ? Pages::huge : Pages::normal);
  if (!memory.ok()) return memory.status();
  const std::lock_guard lock(mutex_);
  if (free_slots_.empty() && blocks_.size() == kMaxBlocks) {
    return Status(
        Code::system_error,
        fmt::format("{} allocations of shared memory are in use; expected at most that many", kMaxBlocks));
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
  block.memory = std::move(memory.value());
  ++block.generation;
  const auto begin = reinterpret_cast<uintptr_t>(block.memory.data());
  insert(begin, begin + block.memory.size(), {slot, block.generation});
  return static_cast<void*>(block.memory.data());
}

Status MemoryRegistry::free(void* base) {
  SharedMemory memory;  // unmapped after the lock is let go
  const std::lock_guard lock(mutex_);
  const auto begin = reinterpret_cast<uintptr_t>(base);
  const uint32_t position = position_of(begin);
  if (position == used_.load(std::memory_order_relaxed) ||
      ranges_[position].begin.load(std::memory_order_relaxed) != begin) {
    return Status(
        Code::invalid_argument,
        fmt::format("{} was to be freed; expected the beginning of memory from ncclMemAlloc", base));
  }
  const BlockId id = unpack(ranges_[position].block.load(std::memory_order_relaxed));
  remove(position);
  memory = std::move(blocks_[id.slot].memory);
  free_slots_.push_back(id.slot);
  return {};
}

Located MemoryRegistry::locate(const void* data, size_t bytes) const {
  const auto at = reinterpret_cast<uintptr_t>(data);
  while (true) {
    const uint64_t version = version_.load(std::memory_order_acquire);
    const uint32_t used = used_.load(std::memory_order_acquire);
    uint32_t low = 0;
    uint32_t high = used;
    while (low < high) {  // the first range that ends after `at`
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
        offset = at - begin;
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

/// Where `begin` is in the list, or would be.
uint32_t MemoryRegistry::position_of(uintptr_t begin) const {
  uint32_t position = 0;
  const uint32_t used = used_.load(std::memory_order_relaxed);
  while (position < used && ranges_[position].begin.load(std::memory_order_relaxed) < begin) ++position;
  return position;
}

// The stores below release, so that a reader who sees one of them sees the odd version too.

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
