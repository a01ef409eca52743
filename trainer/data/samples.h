// SPDX-License-Identifier: Apache-2.0
/// Which sequences a step learns from. They depend on the seed, the step and the number within the global
/// batch only, so neither ranks nor micro-batches change them, and a run continues at any step without a
/// state of its own.
#pragma once

#include <cstdint>
#include <span>

#include "trainer/math/lanes.h"

namespace weir::trainer {

/// Where sequence `number` of global batch `step` begins in a text of `size` bytes: any place that leaves
/// room for `length` tokens and the one after them, all equally likely. REQUIRES: size > length.
Index sample_begin(uint64_t seed, Index step, Index number, Index size, Index length);

/// Copies that sequence: `length` tokens, and for each the one that follows.
void copy_sample(std::span<const uint8_t> text, Index begin, Index length, uint8_t* tokens, uint8_t* targets);

/// Where sequence `number` of `count` for evaluation begins: evenly spread over the text, without overlap as
/// long as count <= evaluation_limit().
Index evaluation_begin(Index number, Index count, Index size, Index length);
/// How many sequences cover the text once.
Index evaluation_limit(Index size, Index length);

}  // namespace weir::trainer
