// SPDX-License-Identifier: Apache-2.0

#include "transports/memory/ring_pool.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir {
namespace {

constexpr uint64_t pack(const ChannelKey& key) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(key.source)) + 1) << 32 | key.number;
}

/// The entry at which the search for a key starts.
constexpr size_t segment_slot(uint64_t key) {
  return static_cast<size_t>((key * 0x9E3779B97F4A7C15u) >> 40) % kDirectoryEntries;
}

/// Finds the entry of `key`, or the free one for it; null if the directory is full.
DirectoryEntry* entry_of(const RingPoolView& ring_pool, uint64_t key) {
  size_t slot = segment_slot(key);
  for (size_t look = 0; look < kDirectoryEntries; ++look) {
    DirectoryEntry& entry = ring_pool.directory[slot];
    const uint64_t found = entry.key.load(std::memory_order_acquire);
    if (found == key || found == 0) return &entry;
    slot = (slot + 1) % kDirectoryEntries;
  }
  return nullptr;
}

template <typename T>
void make_room(std::vector<T>& list, size_t elements) {
  if (list.capacity() < elements) list.reserve(std::max(elements, 2 * list.capacity()));
}

}  // namespace

std::optional<ChannelPlace> RingPoolView::find(const ChannelKey& key) const {
  DirectoryEntry* entry = entry_of(*this, pack(key));
  if (entry == nullptr || entry->key.load(std::memory_order_acquire) == 0) return std::nullopt;
  const uint64_t value = entry->value.load(std::memory_order_acquire);
  const size_t offset = (value & UINT32_MAX) * kBlockAlign;
  if (value == 0 || offset >= bytes) return std::nullopt;
  return ChannelPlace{begin + offset, bytes - offset, static_cast<uint32_t>(value >> 32)};
}

Result<ChannelPlace> RingPool::take(size_t bytes) {
  const size_t size = (bytes + kBlockAlign - 1) / kBlockAlign * kBlockAlign;
  // Blocks are returned by destructors, which must not lack memory.
  make_room(lingering_, blocks_ + 1);
  make_room(free_, blocks_ + 1);
  std::erase_if(lingering_, [this](const Block& block) {
    const auto* word = reinterpret_cast<const std::atomic<uint64_t>*>(view_.begin + block.offset);
    if ((word->load(std::memory_order_acquire) & block.mask) != block.mask) return false;
    free_.push_back(block);
    return true;
  });
  if (++generation_ == 0) generation_ = 1;
  const auto fit =
      std::find_if(free_.begin(), free_.end(), [&](const Block& block) { return block.bytes == size; });
  size_t offset = used_;
  if (fit != free_.end()) {
    offset = fit->offset;
    free_.erase(fit);
  } else if (size <= view_.bytes - used_) {
    used_ += size;
    ++blocks_;
  } else {
    return Status(
        Code::system_error,
        fmt::format(
            "the ring pool of this rank is full: {} of {} bytes are in use, and a channel needs {} bytes; "
            "use fewer or smaller slots (WEIR_SLOTS, WEIR_SLOT_BYTES)",
            used_, view_.bytes, size));
  }
  return ChannelPlace{view_.begin + offset, view_.bytes - offset, generation_};
}

void RingPool::give_back(const ChannelPlace& place, size_t bytes) { give_back_later(place, bytes, 0); }

void RingPool::give_back_later(const ChannelPlace& place, size_t bytes, uint64_t mask) {
  const size_t size = (bytes + kBlockAlign - 1) / kBlockAlign * kBlockAlign;
  lingering_.push_back({static_cast<size_t>(place.block - view_.begin), size, mask});
}

Status RingPool::announce(const ChannelKey& key, const ChannelPlace& place) {
  const uint64_t packed = pack(key);
  DirectoryEntry* entry = entry_of(view_, packed);
  if (entry == nullptr) {
    return Status(
        Code::system_error,
        fmt::format(
            "the channel directory of this rank is full: it has {} channels, and cannot take channel {} "
            "from rank {}",
            kDirectoryEntries, key.number, key.source));
  }
  const bool fresh = entry->key.load(std::memory_order_relaxed) == 0;
  if (!fresh && entry->value.load(std::memory_order_relaxed) != 0) {
    return Status(
        Code::invalid_usage,
        fmt::format("channel {} from rank {} is already open; its receiver must be closed before it is "
                    "opened again",
                    key.number, key.source));
  }
  const auto page = static_cast<uint64_t>(place.block - view_.begin) / kBlockAlign;
  entry->value.store(static_cast<uint64_t>(place.generation) << 32 | page, std::memory_order_release);
  if (fresh) entry->key.store(packed, std::memory_order_release);
  return {};
}

void RingPool::withdraw(const ChannelKey& key) {
  DirectoryEntry* entry = entry_of(view_, pack(key));
  if (entry != nullptr) entry->value.store(0, std::memory_order_release);
}

}  // namespace weir
