// SPDX-License-Identifier: Apache-2.0
/// The board of a rank: private memory in which it writes down its open channel ends, and which peers read
/// through the kernel. The counterpart of a segment where nothing can be mapped.
///
///     | header | entries: a table from (peer, channel, direction) to a control block | control blocks |
///
/// All words are written by the owner alone and read by peers, who copy them with RemoteMemory: a copy may
/// come in the middle of a change, so counters are kept twice, and every control block begins with the token
/// of its end, which is drawn anew for each and taken away first.
///
/// Thread safety: used by one thread at a time, in the owner.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "src/base/types.h"
#include "transports/memory/remote_memory.h"
#include "weir/status.h"

namespace weir::cma {

/// Which end of which channel, from the point of view of the board's owner.
struct EndKey {
  Rank peer = 0;
  uint32_t channel = 0;
  bool sends = false;
};

/// The begin of a board.
struct BoardHeader {
  uint64_t magic;
  uint64_t token;  ///< random; tells that a process id still means the process of the transport address
};

struct BoardEntry {
  std::atomic<uint64_t> key;      ///< written last; 0: free
  std::atomic<uint64_t> control;  ///< address of the control block; 0: closed
};

/// What one end tells the other. `count`: a sender's published messages, a receiver's fetched ones.
struct alignas(64) Control {
  std::atomic<uint64_t> token;  ///< of this end; 0: closed
  std::atomic<uint64_t> bound;  ///< token of the other end that this one belongs to; 0: none yet
  std::atomic<uint64_t> count;
  std::atomic<uint64_t> count_again;  ///< written before count
  uint32_t slots;
  uint32_t slot_bytes;
  RemoteAddress memory;  ///< of a sender's slots
};

/// What a sender tells of its slots once and for all. A receiver's is empty.
struct Shape {
  uint32_t slots = 0;
  uint32_t slot_bytes = 0;
  RemoteAddress memory = 0;
};

/// A copy of a peer's control block, and whether its counters can be believed.
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

/// What a peer must know to read a board. Travels in transport addresses.
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
  /// A control block with a new token and this shape, entered under `key`; peers may read it from now on.
  /// The counters are zero. Refused when `key` is open.
  Result<Control*> open(const EndKey& key, const Shape& shape);
  /// Takes the token away, then the block.
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

  /// 0 if the board is there and can be read, else the errno.
  int check() const;
  /// Where the peer's end lies, if it is open now.
  std::optional<RemoteAddress> find(const EndKey& key) const;
  const RemoteMemory& memory() const { return memory_; }

 private:
  BoardAddress address_;
  RemoteMemory memory_;
};

}  // namespace weir::cma
