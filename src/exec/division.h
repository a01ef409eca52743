// SPDX-License-Identifier: Apache-2.0
/// How the elements of an operation are dealt out to chunks and passes: which piece of a chunk a pass moves.
/// One definition for the host's interpreter and for kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/base/chunks.h"

namespace weir::exec {

/// Bytes that fit the granularity of SIMD and cache lines: chunks begin at multiples of it.
inline constexpr size_t kGrainBytes = 64;

/// A piece of one chunk: the tile of one pass. In elements, within the block.
struct Piece {
  size_t first;
  size_t count;
};

/// Plain data. Chunks are the parts of a block as part_of() cuts it.
struct Division {
  size_t count = 0;     ///< elements per block
  size_t tile = 1;      ///< elements of a chunk that a pass moves at most
  size_t passes = 1;    ///< nothing to move is one pass of empty messages
  size_t shortest = 0;  ///< elements of a chunk that is not longer by a grain, unless the block ends in it
  size_t longer = 0;    ///< so many chunks have one grain more
  uint32_t grain = 1;   ///< elements
  uint32_t chunks = 1;  ///< per block

  /// REQUIRES: part < chunks.
  constexpr Piece piece_of(uint32_t part, size_t pass) const {
    Piece chunk{0, count};
    if (chunks > 1) {
      chunk.first = least(count, shortest * part + least(part, longer) * grain);
      chunk.count = least(shortest + (part < longer ? grain : 0), count - chunk.first);
    }
    const size_t begin = least(pass * tile, chunk.count);
    return {chunk.first + begin, least(tile, chunk.count - begin)};
  }
  /// Of a piece of `chunk`, in elements from the begin of the buffer.
  constexpr size_t offset_of(uint32_t chunk, const Piece& piece) const {
    return chunk / chunks * count + piece.first;
  }

 private:
  static constexpr size_t least(size_t a, size_t b) { return a < b ? a : b; }
};

/// Of blocks of `count` elements of `element` bytes, with pieces of at most `tile_bytes` (at least one
/// element).
constexpr Division divide_work(size_t count, uint32_t chunks, size_t element, size_t tile_bytes) {
  Division division;
  division.count = count;
  division.chunks = chunks;
  division.grain = static_cast<uint32_t>(kGrainBytes / element);
  division.tile = tile_bytes / element;
  const size_t grains = count / division.grain + (count % division.grain != 0);
  division.shortest = grains / chunks * division.grain;
  division.longer = grains % chunks;
  const size_t longest = part_of(count, chunks, 0, division.grain).count;
  const size_t passes = (longest + division.tile - 1) / division.tile;
  division.passes = passes > 0 ? passes : 1;
  return division;
}

}  // namespace weir::exec
