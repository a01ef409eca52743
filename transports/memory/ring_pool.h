// SPDX-License-Identifier: Apache-2.0
/// The ring pool: the part of a segment in which channels are made, and the directory that tells peers where.
///
/// The owner makes a block for a channel that comes to it and announces it under (source rank, channel
/// number); the source finds it in the directory. Every announcement has a generation, so that the source
/// never takes an earlier life of a channel for the present one, even where the block is used again.
///
/// Shared words, all in the directory, written by the owner alone and read by all peers:
///   key    once, after the value; 0: free
///   value  generation and place of the block; 0: closed
///
/// Thread safety: RingPool is used by one thread at a time, in the owner. RingPoolView may be read by anyone.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "src/base/types.h"
#include "weir/status.h"

namespace weir {

/// Names a channel at its receiver.
struct ChannelKey {
  Rank source = 0;
  uint32_t number = 0;
};

/// Where a channel lies, and in which life.
struct ChannelPlace {
  std::byte* block = nullptr;
  size_t bytes = 0;         ///< up to the end of the ring pool, for checks; the block is no longer than this
  uint32_t generation = 0;  ///< never 0
};

/// One line of the directory.
struct DirectoryEntry {
  std::atomic<uint64_t> key;
  std::atomic<uint64_t> value;
};

inline constexpr size_t kDirectoryEntries = size_t{1} << 15;
inline constexpr size_t kBlockAlign = 4096;

/// A ring pool in any address space.
struct RingPoolView {
  DirectoryEntry* directory = nullptr;  ///< kDirectoryEntries
  std::byte* begin = nullptr;           ///< kBlockAlign-aligned
  size_t bytes = 0;

  /// The block announced under `key`, if there is one now.
  std::optional<ChannelPlace> find(const ChannelKey& key) const;
};

class RingPool {
 public:
  explicit RingPool(const RingPoolView& view) : view_(view) {}

  /// A block of at least `bytes`, zeroed where it is fresh, else with the bytes of its last life. A block
  /// keeps its size and begin for good. The error is a sentence when the ring pool is full.
  Result<ChannelPlace> take(size_t bytes);
  /// Gives a block back. REQUIRES: nobody writes to it any more.
  void give_back(const ChannelPlace& place, size_t bytes);
  /// Gives a block back that the peer may still use: kept until the word at its begin has all bits of `mask`.
  void give_back_later(const ChannelPlace& place, size_t bytes, uint64_t mask);

  /// Tells peers. What they must see in the block is written before.
  Status announce(const ChannelKey& key, const ChannelPlace& place);
  void withdraw(const ChannelKey& key);

 private:
  struct Block {
    size_t offset;
    size_t bytes;
    uint64_t mask;  ///< of the first word: all set when the peer has left
  };

  RingPoolView view_;
  size_t used_ = 0;  ///< bytes ever handed out
  uint32_t generation_ = 0;
  std::vector<Block> free_;
  std::vector<Block> lingering_;
};

}  // namespace weir
