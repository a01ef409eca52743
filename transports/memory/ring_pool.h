// SPDX-License-Identifier: Apache-2.0
/// The ring pool: the part of a segment in which channels have their blocks, with the directory in which
/// peers find them.
///
/// The owner creates a block for an incoming channel and announces it under (source rank, channel number);
/// the source finds it in the directory. Every announcement has a generation, so that the source never
/// mistakes an earlier life of a channel for the present one, even if the block is reused.
///
/// Shared words, all in the directory, written by the owner only and read by all peers:
///   key    written once, after the value; 0: free
///   value  generation and position of the block; 0: closed
///
/// Thread safety: RingPool is used by one thread at a time, in the owner. RingPoolView may be read by anyone.
/// Tests: tests/transports/segment_test.cc
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "src/base/status.h"
#include "src/base/types.h"

namespace weir {

/// Identifies a channel at its receiver.
struct ChannelKey {
  Rank source = 0;
  uint32_t number = 0;
};

/// Position and generation of a channel's block.
struct ChannelPlace {
  std::byte* block = nullptr;
  size_t bytes = 0;         ///< upper limit of the block's size, up to the end of the ring pool; for checks
  uint32_t generation = 0;  ///< generation of the announcement; never 0
};

/// One entry of the directory.
struct DirectoryEntry {
  std::atomic<uint64_t> key;
  std::atomic<uint64_t> value;
};

inline constexpr size_t kDirectoryEntries = size_t{1} << 15;
inline constexpr size_t kBlockAlign = 4096;

/// A view of a ring pool in any address space.
struct RingPoolView {
  DirectoryEntry* directory = nullptr;  ///< kDirectoryEntries entries
  std::byte* begin = nullptr;           ///< first byte of the blocks, aligned to kBlockAlign
  size_t bytes = 0;

  /// The block that is announced under `key`, or nullopt.
  std::optional<ChannelPlace> find(const ChannelKey& key) const;
};

class RingPool {
 public:
  explicit RingPool(const RingPoolView& view) : view_(view) {}

  /// Takes a block of at least `bytes`: zeroed if it is new, else with the bytes of its last use. A block
  /// keeps its size and position. Fails if the ring pool is full.
  Result<ChannelPlace> take(size_t bytes);
  /// Returns a block. REQUIRES: nobody writes to it any more.
  void give_back(const ChannelPlace& place, size_t bytes);
  /// Returns a block that the peer may still use; it is not reused until the word at its begin has all bits
  /// of `mask`.
  void give_back_later(const ChannelPlace& place, size_t bytes, uint64_t mask);

  /// Announces the block to peers. REQUIRES: everything that they read in the block was written before.
  Status announce(const ChannelKey& key, const ChannelPlace& place);
  void withdraw(const ChannelKey& key);

 private:
  struct Block {
    size_t offset;
    size_t bytes;
    uint64_t mask;  ///< bits of the first word; all set once the peer has left
  };

  RingPoolView view_;
  size_t used_ = 0;  ///< largest number of bytes in use so far
  uint32_t generation_ = 0;
  size_t blocks_ = 0;  ///< number of all blocks; the lists have room for as many
  std::vector<Block> free_;
  std::vector<Block> lingering_;
};

}  // namespace weir
