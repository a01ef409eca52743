// SPDX-License-Identifier: Apache-2.0
/// Divides a large collective into pieces: each has the same number of elements of every block, so that it is
/// the same collective over fewer elements. All ranks of a communicator divide alike, wherever their memory
/// is.
///
/// Pure.
/// Tests: tests/core/segmentation_test.cc
#pragma once

#include <cstddef>

#include "src/core/call/operation.h"

namespace weir::core {

/// Maximum bytes of a piece, in the larger buffer of any rank.
inline constexpr size_t kPieceBytes = size_t{4} << 20;

struct Segmentation {
  size_t input_blocks = 0;    ///< blocks of `count` elements in this rank's input; 0: it has no input
  size_t output_blocks = 0;   ///< blocks in this rank's output; 0: it has no output
  size_t piece_elements = 0;  ///< elements of a block in each piece but the last
  size_t pieces = 1;
};

Segmentation segmentation_of(const CollectiveOp& operation, Rank rank, int ranks);

}  // namespace weir::core
