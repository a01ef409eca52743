/// The norm of gradients, with bits that do not depend on how they are sharded. Pure.
#pragma once

#include <cstddef>
#include <span>

#include "trainer/shard/layout.h"

namespace weir::shard {

/// Writes the sum of squares of each block of kNormBlock elements, the last one shorter: (n + 1023) / 1024
/// sums. fp32, in 16 lanes that are added as a tree.
void square_blocks(std::span<const float> values, float* sums);

}  // namespace weir::shard
