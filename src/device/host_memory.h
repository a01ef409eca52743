// SPDX-License-Identifier: Apache-2.0
/// The memory of this process that peers of the same host can map: allocations of ncclMemAlloc and memory
/// that users have registered; and a fast check whether a buffer is such memory.
///
/// Thread-safe. The owner keeps the registry alive for as long as the memory is used. find() takes no lock
/// and makes no system call, because it is called for every buffer of every collective.
/// Tests: tests/device/host_memory_test.cc
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "src/base/status.h"
#include "src/device/shared_memory.h"

namespace weir::device {

/// Identifies an allocation (or registered memory) of one process, even after it is freed: its slot, and a
/// generation that counts the uses of the slot. Peers keep their mappings in an array indexed by `slot` and
/// compare `generation`. Trivially copyable.
struct BlockId {
  uint32_t slot = 0;
  uint32_t generation = 0;  ///< counts from 1; 0: no block

  bool operator==(const BlockId&) const = default;
};

/// The position of some bytes in an allocation.
struct Located {
  BlockId block;
  size_t offset = 0;
};

class MemoryRegistry {
 public:
  /// The maximum number of blocks at a time. Each block needs a file descriptor, so the kernel's limit
  /// (ulimit -n) is often lower.
  static constexpr uint32_t kMaxBlocks = 1 << 14;

  MemoryRegistry();
  ~MemoryRegistry();
  MemoryRegistry(const MemoryRegistry&) = delete;
  MemoryRegistry& operator=(const MemoryRegistry&) = delete;

  /// Allocates `bytes` of zeroes at a page boundary, on huge pages if they are available and the size is
  /// large. Errors: invalid_argument for 0 bytes, system_error.
  Result<void*> allocate(size_t bytes);

  /// Frees an allocation; peers that mapped it keep their mapping. Errors: invalid_argument if `base` is not
  /// an address that allocate() returned. REQUIRES: the memory is not in use.
  Status free(void* base);

  /// Registers memory that the user has mapped from a file, until forget(). Registering the same bytes again
  /// gives the same block, which must be forgotten equally often. Errors: as SharedMemory::adopt;
  /// invalid_argument if the memory partly overlaps a block; system_error if too many blocks are in use.
  Result<BlockId> adopt(const void* data, size_t bytes);
  /// Undoes one adopt(). REQUIRES: adopt() returned the block; the memory is not in use when it is forgotten
  /// for the last time.
  void forget(BlockId block);

  /// The block that contains all of [data, data + bytes), if there is one.
  std::optional<Located> find(const void* data, size_t bytes) const {
    const Located found = locate(data, bytes);
    return found.block.generation != 0 ? std::optional(found) : std::nullopt;
  }

  /// A number that changes whenever results of find() may change.
  uint64_t version() const { return version_.load(std::memory_order_acquire); }

  /// The handle with which a peer attaches to the block; nullopt if the block does not exist any more.
  std::optional<ShareHandle> handle(BlockId block) const;

  /// The current number of blocks.
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
    uint32_t adopted = 0;  ///< number of adopt() calls; 0: allocated by allocate()
  };

  /// The position of the bytes; generation 0 if not found. Unlike an optional, this is returned in registers.
  Located locate(const void* data, size_t bytes) const;
  Result<BlockId> add(SharedMemory memory, uintptr_t begin, uintptr_t end);
  void drop(uint32_t position, SharedMemory& memory);
  void insert(uintptr_t begin, uintptr_t end, BlockId id);
  void remove(uint32_t position);
  static void assign(Range& to, const Range& from);
  uint32_t position_of(uintptr_t begin) const;

  const uintptr_t page_mask_;
  mutable std::mutex mutex_;   // serializes writers; guards blocks_
  std::vector<Block> blocks_;  // indexed by slot
  std::vector<uint32_t> free_slots_;
  // Readers read version_, then the ranges, then version_ again, and retry if it is odd or has changed.
  std::atomic<uint64_t> version_{0};
  std::atomic<uint32_t> used_{0};
  std::unique_ptr<Range[]> ranges_;  // sorted by address; created with the first block
};

}  // namespace weir::device
