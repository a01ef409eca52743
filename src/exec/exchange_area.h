// SPDX-License-Identifier: Apache-2.0
/// The exchange area of a segment: memory that the ranks of one island write and read directly, for the
/// collectives of shm_collectives.h. All ranks lay out their exchange areas in the same way.
///
///     | stage lines | process | allocation table | inline messages | half 0 | half 1 |
///
/// Writers: the owner of the exchange area writes everything except inline_message[parity][p], which rank p
/// writes. Readers: all ranks. An exchange is a sequence of stages that all ranks number equally. The data of
/// stage s lie in the line, inline messages and half of parity s % 2. By posting stage s + 1 a rank announces
/// that it has read all that it needs of stage s. So memory of stage s may be written again in stage s + 2,
/// once stage s + 1 of all ranks was seen, and no lock is needed.
/// Tests: tests/exec/shm_collectives_test.cc
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "transports/memory/memory_owner.h"

namespace weir::exec {

/// The position of a buffer in an allocation that peers can map; slot < 0: it is in no allocation, and its
/// bytes are copied to the half.
struct BufferPosition {
  int32_t slot = -1;
  uint32_t generation = 0;
  uint64_t offset = 0;

  bool operator==(const BufferPosition&) const = default;
};

/// Where peers find the buffers of an operation.
struct BufferPositions {
  BufferPosition input;
  BufferPosition output;
  RemoteAddress address = 0;  ///< of the input, which the other ranks read there (rendezvous); 0: they do not

  bool operator==(const BufferPositions&) const = default;
};

/// What a rank announces to all ranks when it enters a stage. `stage` is written last, with release order.
struct alignas(64) StageEntry {
  std::atomic<uint64_t> stage;  ///< number << 32 | signature
  BufferPositions buffers;      ///< those of the operation, in its first stage
  bool unread;                  ///< this rank could not read what others have
};
static_assert(sizeof(StageEntry) == 64);

/// A few bytes from one rank to another, in the cache line that announces them. `stage` is written last.
struct alignas(64) InlineMessage {
  static constexpr size_t kBytes = 56;
  std::atomic<uint64_t> stage;
  std::byte bytes[kBytes];
};
static_assert(sizeof(InlineMessage) == 64);

/// The device::ShareHandle with which a peer maps an allocation of the owner. Changed only between two
/// operations, before a post that names the slot with a new generation.
struct alignas(64) AllocationSlot {
  std::byte handle[64];
};

/// One rank's exchange area, as pointers. Plain data.
class ExchangeArea {
 public:
  static constexpr int kAllocations = 32;

  ExchangeArea() = default;
  ExchangeArea(std::byte* base, size_t bytes, int ranks) : base_(base), ranks_(ranks) {
    const size_t head = head_bytes(ranks);
    half_bytes_ = bytes > head ? (bytes - head) / 2 / 4096 * 4096 : 0;
  }

  StageEntry& stage(uint64_t parity) const { return reinterpret_cast<StageEntry*>(base_)[parity]; }
  /// The owner's process; set before its first stage.
  MemoryOwner& process() const { return *reinterpret_cast<MemoryOwner*>(base_ + kProcessOffset); }
  AllocationSlot& allocation(int slot) const {
    return reinterpret_cast<AllocationSlot*>(base_ + kAllocationOffset)[slot];
  }
  InlineMessage& inline_message(uint64_t parity, int from) const {
    return reinterpret_cast<InlineMessage*>(
        base_ + kInlineMessageOffset)[parity * static_cast<size_t>(ranks_) + static_cast<size_t>(from)];
  }
  std::byte* half(uint64_t parity) const { return base_ + head_bytes(ranks_) + parity * half_bytes_; }
  /// The size of a half in bytes; 0: the exchange area is too small for this number of ranks.
  size_t half_bytes() const { return half_bytes_; }

 private:
  static constexpr size_t kProcessOffset = 2 * sizeof(StageEntry);
  static constexpr size_t kAllocationOffset = kProcessOffset + 64;
  static_assert(sizeof(MemoryOwner) <= 64);
  static constexpr size_t kInlineMessageOffset = kAllocationOffset + kAllocations * sizeof(AllocationSlot);
  static size_t head_bytes(int ranks) {
    return (kInlineMessageOffset + 2 * static_cast<size_t>(ranks) * sizeof(InlineMessage) + 4095) / 4096 *
           4096;
  }

  std::byte* base_ = nullptr;
  int ranks_ = 0;
  size_t half_bytes_ = 0;
};

}  // namespace weir::exec
