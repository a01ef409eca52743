// SPDX-License-Identifier: Apache-2.0
/// The memory of this process that peers of the same host can map: what ncclMemAlloc gave and what users have
/// registered; and a fast answer to the question whether a buffer is such memory.
///
/// Thread-safe. The owner keeps it alive for as long as anybody uses the memory. find() takes no lock and
/// makes no system call; it is asked for every buffer of every collective.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "src/device/shared_memory.h"
#include "weir/status.h"

namespace weir::device {

/// Names an allocation (or registered memory) of one process, now and after it is freed: a place in its list,
/// and how often that place was used before. Peers keep what they mapped in an array by `slot` and compare
/// `generation`. Trivially copyable.
struct BlockId {
  uint32_t slot = 0;
  uint32_t generation = 0;  ///< from 1 on; 0 names nothing

  bool operator==(const BlockId&) const = default;
};

/// Where some bytes lie in an allocation.
struct Located {
  BlockId block;
  size_t offset = 0;
};

class MemoryRegistry {
 public:
  /// Allocations at once, at most. Each holds a descriptor, so the kernel's limit is often lower (ulimit -n).
  static constexpr uint32_t kMaxBlocks = 1 << 14;

  MemoryRegistry();
  ~MemoryRegistry();
  MemoryRegistry(const MemoryRegistry&) = delete;
  MemoryRegistry& operator=(const MemoryRegistry&) = delete;

  /// `bytes` of zeroes at a page boundary, on huge pages where there are some and it is large. Errors:
  /// invalid_argument for 0 bytes, system_error.
  Result<void*> allocate(size_t bytes);

  /// Gives an allocation back; peers that mapped it keep their mapping. Errors: invalid_argument where `base`
  /// is not what allocate gave. No one may be using the memory.
  Status free(void* base);

  /// Takes in memory that the user has mapped from a file, until forget(). Registering the same bytes again
  /// gives the same block, to be forgotten as often. Errors: as SharedMemory::adopt; invalid_argument where
  /// it overlaps a block but is not it; system_error when too many blocks are in use.
  Result<BlockId> adopt(const void* data, size_t bytes);
  /// REQUIRES: adopt() gave it. No one may be using the memory when it is forgotten for the last time.
  void forget(BlockId block);

  /// The block that holds all of [data, data + bytes), if there is one.
  std::optional<Located> find(const void* data, size_t bytes) const {
    const Located found = locate(data, bytes);
    return found.block.generation != 0 ? std::optional(found) : std::nullopt;
  }

  /// Changes whenever find() may say something else than before.
  uint64_t version() const { return version_.load(std::memory_order_acquire); }

  /// What a peer attaches with. Empty when the block is gone.
  std::optional<ShareHandle> handle(BlockId block) const;

  /// Blocks now.
  size_t count() const;

 private:
  /// One block in the sorted list that find() searches.
  struct Range {
    std::atomic<uintptr_t> begin{0};
    std::atomic<uintptr_t> end{0};
    std::atomic<uint64_t> block{0};
  };
  struct Block {
    SharedMemory memory;
    uint32_t generation = 0;
    uint32_t adopted = 0;  ///< how often; 0: allocated here
  };

  /// Generation 0: nowhere. Unlike an optional this is returned in registers.
  Located locate(const void* data, size_t bytes) const;
  Result<BlockId> add(SharedMemory memory, uintptr_t begin, uintptr_t end);
  void drop(uint32_t position, SharedMemory& memory);
  void insert(uintptr_t begin, uintptr_t end, BlockId id);
  void remove(uint32_t position);
  static void assign(Range& to, const Range& from);
  uint32_t position_of(uintptr_t begin) const;

  const uintptr_t page_mask_;
  mutable std::mutex mutex_;   // writers, and blocks_
  std::vector<Block> blocks_;  // by slot
  std::vector<uint32_t> free_slots_;
  // Readers look at version_, then at the ranges, then at version_ again: odd or changed means try again.
  std::atomic<uint64_t> version_{0};
  std::atomic<uint32_t> used_{0};
  std::unique_ptr<Range[]> ranges_;  // sorted by address; made with the first allocation
};

}  // namespace weir::device
