// SPDX-License-Identifier: Apache-2.0
/// The board of a rank: private memory in which the rank publishes its open channel ends, and which peers
/// read through the kernel. Takes the role of a segment if memory cannot be mapped.
///
///     | header | entries: a table from (peer, channel, direction) to a control block | control blocks |
///
/// Only the owner writes to the board. Peers copy its words with RemoteMemory, possibly in the middle of a
/// change; therefore counters are stored twice, and every control block begins with the token of its end,
/// which is random for each end and is cleared first.
///
/// Thread safety: used by one thread at a time, in the owner.
/// Tests: tests/transports/cma_test.cc
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "src/base/status.h"
#include "src/base/types.h"
#include "transports/memory/remote_memory.h"

namespace weir::cma {

/// Identifies one end of a channel, from the point of view of the board's owner.
struct EndKey {
  Rank peer = 0;
  uint32_t channel = 0;
  bool sends = false;
};

/// Header of a board.
struct BoardHeader {
  uint64_t magic;
  uint64_t token;  ///< random; verifies that the process id still belongs to that process
};

struct BoardEntry {
  std::atomic<uint64_t> key;      ///< written last; 0: free
  std::atomic<uint64_t> control;  ///< address of the control block; 0: closed
};

/// What one end publishes for the other. `count`: messages published by a sender, or fetched by a receiver.
struct alignas(64) Control {
  std::atomic<uint64_t> token;  ///< token of this end; 0: closed
  std::atomic<uint64_t> bound;  ///< token of the peer's end to which this one is bound; 0: none yet
  std::atomic<uint64_t> count;
  std::atomic<uint64_t> count_again;  ///< copy of `count`, written before it
  uint32_t slots;
  uint32_t slot_bytes;
  RemoteAddress memory;  ///< address of a sender's slots
};

/// A sender's slots, constant for the life of the end. All 0 for a receiver.
struct SlotLayout {
  uint32_t slots = 0;
  uint32_t slot_bytes = 0;
  RemoteAddress memory = 0;
};

/// A copy of a peer's control block; settled() tells whether its counters are consistent.
struct ControlCopy {
  uint64_t token = 0;
  uint64_t bound = 0;
  uint64_t count = 0;
  uint64_t count_again = 0;
  uint32_t slots = 0;
  uint32_t slot_bytes = 0;
  RemoteAddress memory = 0;

  bool settled() const { return count == count_again; }
};
static_assert(sizeof(ControlCopy) <= sizeof(Control) && sizeof(Control) == 64);

/// What a peer needs to read a board; part of transport addresses.
struct BoardAddress {
  int32_t pid = 0;
  uint32_t reserved = 0;
  uint64_t pid_namespace = 0;
  uint64_t token = 0;
  RemoteAddress begin = 0;
};

class Board {
 public:
  static Result<std::unique_ptr<Board>> create();
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  BoardAddress address() const;
  /// Creates a control block with a new token, this shape and zero counters under `key`; peers may read it
  /// from now on. Fails if `key` is open.
  Result<Control*> open(const EndKey& key, const SlotLayout& shape);
  /// Clears the token, then frees the block.
  void close(const EndKey& key, Control* control);

 private:
  explicit Board(std::byte* memory, uint64_t token) : memory_(memory), token_(token) {}
  BoardEntry* entries() const;
  Control* controls() const;

  std::byte* const memory_;
  const uint64_t token_;
  uint64_t serial_ = 0;
  size_t controls_used_ = 0;
  std::vector<Control*> free_;
};

/// The board of a peer.
class PeerBoard {
 public:
  explicit PeerBoard(const BoardAddress& address) : address_(address), memory_(address.pid) {}

  /// Returns 0 if the board exists and can be read, else the errno.
  int check() const;
  /// Address of the control block of the peer's end, if that is open now.
  std::optional<RemoteAddress> find(const EndKey& key) const;
  const RemoteMemory& memory() const { return memory_; }

 private:
  BoardAddress address_;
  RemoteMemory memory_;
};

}  // namespace weir::cma
