// SPDX-License-Identifier: Apache-2.0
/// How the elements of an operation are distributed over chunks and passes: which piece of a chunk each pass
/// moves. The host's interpreter and the kernels use the same definition.
/// Tests: tests/exec/run_test.cc, tests/exec/gpu_image_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/base/chunks.h"

namespace weir::exec {

/// Chunks begin at multiples of this number of bytes, which suits SIMD and cache lines.
inline constexpr size_t kGrainBytes = 64;

/// A piece of one chunk: the tile that one pass moves. In elements, relative to the block.
struct Piece {
  size_t first;
  size_t count;
};

/// Plain data. Chunks are the parts of a block as part_of() divides it.
struct Division {
  size_t count = 0;     ///< elements per block
  size_t tile = 1;      ///< maximum number of elements of a chunk that a pass moves
  size_t passes = 1;    ///< number of passes; one pass of empty messages if there are no elements
  size_t shortest = 0;  ///< elements of a chunk without an extra grain (the last chunk may be shorter)
  size_t longer = 0;    ///< number of chunks with one extra grain; these come first
  uint32_t grain = 1;   ///< grain in elements
  uint32_t chunks = 1;  ///< number of chunks per block

  /// The piece of chunk `part` that pass `pass` moves. REQUIRES: part < chunks.
  constexpr Piece piece_of(uint32_t part, size_t pass) const {
    Piece chunk{0, count};
    if (chunks > 1) {
      chunk.first = least(count, shortest * part + least(part, longer) * grain);
      chunk.count = least(shortest + (part < longer ? grain : 0), count - chunk.first);
    }
    const size_t begin = least(pass * tile, chunk.count);
    return {chunk.first + begin, least(tile, chunk.count - begin)};
  }
  /// The offset of a piece of `chunk` from the beginning of the buffer, in elements.
  constexpr size_t offset_of(uint32_t chunk, const Piece& piece) const {
    return chunk / chunks * count + piece.first;
  }

 private:
  static constexpr size_t least(size_t a, size_t b) { return a < b ? a : b; }
};

/// The division of blocks of `count` elements of `element` bytes into pieces of at most `tile_bytes` (at
/// least one element).
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
