// SPDX-License-Identifier: Apache-2.0
/// The plan: the schedule of one collective over all ranks, in chunks, without bytes, pointers and devices.
///
/// A plan is a list of moves. Executed one after the other, in list order, the moves give the result; lanes
/// and channels only relax that order. A move takes chunks from rank `src` to rank `dst` and makes a value
/// there:
///
///     value(m) = with (+) from        (+) is the reduction; without `with` it is just `from`
///
/// `from` is read at src: a position in one of its buffers, or the value that an earlier move made at src
/// (forwarding: the value need not be stored in memory). `with` is read at dst and is the left operand. The
/// value is stored at `to`, or, without `to`, only passed on by later moves.
///
/// Chunks: every buffer is a sequence of blocks of `count` elements (one block, or one per rank), and every
/// block is divided into Shape::chunks chunks; chunk c is part c % chunks of block c / chunks. Scratch chunks
/// are as long as the longest chunk.
///
/// Plain values: they can be copied, compared, and shared between threads when const.
/// Tests: tests/ir/verify_test.cc, tests/ir/text_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/types.h"

namespace weir::ir {

/// Lanes of a rank are numbered 0 to kMaxLanes - 1.
inline constexpr int kMaxLanes = 64;

/// The collective over `ranks`; each of its blocks is divided into `chunks`.
struct Shape {
  Collective kind = Collective::all_reduce;
  int ranks = 1;
  Rank root = 0;        ///< only if has_root(kind)
  uint32_t chunks = 1;  ///< number of chunks per block
  int relays = 0;       ///< so many of the last ranks have no buffers and only forward; all_to_all only

  /// Ranks that take part.
  int members() const { return ranks - relays; }
  bool operator==(const Shape&) const = default;
};

/// Number of blocks of the input and output buffer of `rank`; 0 if the rank has no such buffer.
int input_blocks(const Shape& shape, Rank rank);
int output_blocks(const Shape& shape, Rank rank);

struct Operand {
  enum class Kind : uint8_t { none, input, output, scratch, value };
  Kind kind = Kind::none;
  uint32_t index = 0;  ///< first chunk of the buffer, or the number of the move that made the value

  bool operator==(const Operand&) const = default;
  bool in_memory() const { return kind == Kind::input || kind == Kind::output || kind == Kind::scratch; }
};

/// The way that a move takes between two ranks. `any`: the one that the driver or the transport takes.
enum class MoveWay : uint8_t { any, nvlink, xgmi, pcie, net };
inline constexpr int kMoveWays = 5;
/// The word of plan files: "nvlink", "pcie".
std::string_view name(MoveWay way);

struct Move {
  Rank src = 0;
  Rank dst = 0;          ///< equal to src: a local move, in one lane
  uint8_t src_lane = 0;  ///< lane of src that sends
  uint8_t dst_lane = 0;  ///< lane of dst that receives, pulls, or moves locally
  bool pull = false;     ///< dst reads the memory of src; `from` must be in memory
  uint32_t chunks = 1;   ///< number of consecutive chunks at from, with and to
  Operand from;
  Operand with;
  Operand to;
  bool push = false;  ///< src writes the memory of dst, at `to`; dst only learns that it is complete
  MoveWay way = MoveWay::any;

  bool operator==(const Move&) const = default;
};

struct Plan {
  std::string algorithm;  ///< a name for people, logs and caches: "ring", "tree", ...
  Shape shape;
  uint32_t scratch_chunks = 0;  ///< number of scratch chunks of every rank
  std::vector<Move> moves;
  /// Sizes of a block for which it is meant, both included; bytes.
  uint64_t least_bytes = 0;
  uint64_t most_bytes = UINT64_MAX;
  uint64_t message_bytes = 0;  ///< largest message for which it is meant; 0: as large as channels allow

  bool operator==(const Plan&) const = default;
};

}  // namespace weir::ir
