// SPDX-License-Identifier: Apache-2.0
// Element-wise operations: sums, bfloat16, AdamW; and sums of squares.
#include <algorithm>

#include "trainer/math/bfloat16.h"
#include "trainer/math/row_parts.h"
#include "trainer/math/rows.h"

namespace weir::trainer {

WEIR_TRAINER_CLONES void add(Index count, const float* addend, float* sum) {
  for (Index at = 0; at < count; ++at) sum[at] += addend[at];
}

WEIR_TRAINER_CLONES void to_bfloat16(Index count, const float* from, uint16_t* to) {
  for (Index at = 0; at < count; ++at) to[at] = to_bfloat16(from[at]);
}

WEIR_TRAINER_CLONES void round_to_bfloat16(Index count, const float* from, float* to) {
  for (Index at = 0; at < count; ++at) to[at] = from_bfloat16(to_bfloat16(from[at]));
}

WEIR_TRAINER_CLONES void from_bfloat16(Index count, const uint16_t* from, float* to) {
  for (Index at = 0; at < count; ++at) to[at] = from_bfloat16(from[at]);
}

WEIR_TRAINER_CLONES void add_bfloat16(Index count, const uint16_t* from, float* sum) {
  for (Index at = 0; at < count; ++at) sum[at] += from_bfloat16(from[at]);
}

WEIR_TRAINER_CLONES void scale(Index count, float factor, float* values) {
  for (Index at = 0; at < count; ++at) values[at] *= factor;
}

WEIR_TRAINER_CLONES void square_blocks(Index count, const float* values, float* sums) {
  for (Index first = 0; first < count; first += kSquareBlock)
    *sums++ = parts::sum_of_squares(std::min(kSquareBlock, count - first), values + first);
}

WEIR_TRAINER_CLONES void adamw_step(const AdamW& settings, Index count, float* parameters,
                                    const float* gradients, float* mean, float* variance) {
  const parts::AdamWFactors factors = parts::factors_of(settings);
  for (Index at = 0; at < count; ++at)
    parts::adamw(factors, parameters[at], gradients[at], mean[at], variance[at]);
}

}  // namespace weir::trainer
