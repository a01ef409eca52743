// SPDX-License-Identifier: Apache-2.0
/// How a large collective is divided into pieces: the same number of elements of every block at once, so that
/// each piece is the same collective over fewer elements. All ranks of a communicator divide alike, wherever
/// their memory lies.
///
/// Pure.
#pragma once

#include <cstddef>

#include "src/core/call/operation.h"

namespace weir::core {

/// Most bytes of a piece, in the larger buffer of any rank.
inline constexpr size_t kPieceBytes = size_t{4} << 20;

struct Segmentation {
  size_t input_blocks = 0;    ///< of `count` elements in this rank's input; 0: it has none
  size_t output_blocks = 0;   ///< likewise
  size_t piece_elements = 0;  ///< elements of a block in each piece but the last
  size_t pieces = 1;
};

/// REQUIRES: a collective, no send or receive.
Segmentation segmentation_of(const Operation& operation, Rank rank, int ranks);

}  // namespace weir::core
