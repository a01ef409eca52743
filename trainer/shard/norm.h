// SPDX-License-Identifier: Apache-2.0
/// The norm of gradients, with bits that do not depend on how they are sharded. Pure.
#pragma once

#include <cstddef>
#include <span>

#include "trainer/shard/layout.h"

namespace weir::shard {

/// Writes the sum of squares of each block of kNormBlock elements; the last block may be shorter: (n + 1023)
/// / 1024 sums. fp32, in 16 lanes that are added as a tree.
void square_blocks(std::span<const float> values, float* sums);

/// Number of norm blocks of the stretches of a unit that count.
size_t norm_blocks(const Unit& unit);

/// Contiguous elements whose block sums are computed together, beginning with block `block` of the unit. If a
/// stretch does not begin at a block boundary, two ranks may each have a part of a block.
struct NormPart {
  Range range;
  size_t block = 0;
};
/// The elements that a rank with the range `own` of a unit has to square.
std::vector<NormPart> norm_parts(const Unit& unit, const Range& own);

}  // namespace weir::shard
