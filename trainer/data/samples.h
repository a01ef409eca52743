// SPDX-License-Identifier: Apache-2.0
/// Selects the sequences that a step trains on. They depend only on the seed, the step and the number within
/// the global batch, so that neither ranks nor micro-batches change them, and a run resumes at any step
/// without saved state.
#pragma once

#include <cstdint>

#include "trainer/math/lanes.h"

namespace weir::trainer {

/// The position at which sequence `number` of global batch `step` begins in a text of `size` tokens: any
/// position with at least `length` + 1 bytes from there to the end, all equally likely. REQUIRES: size >
/// length.
Index sample_begin(uint64_t seed, Index step, Index number, Index size, Index length);

/// The position at which sequence `number` of the `count` evaluation sequences begins: evenly spread over the
/// text, without overlap as long as count <= evaluation_limit().
Index evaluation_begin(Index number, Index count, Index size, Index length);
/// The number of sequences that cover the text once.
Index evaluation_limit(Index size, Index length);

}  // namespace weir::trainer
