// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "trainer/math/row_parts.h"
#include "trainer/math/rows.h"

namespace weir::trainer {

void rotary_frequencies(Index size, float base, const RotaryScaling& scaling, float* frequencies) {
  for (Index at = 0; at < size / 2; ++at) frequencies[at] = parts::rotary_frequency(at, size, base, scaling);
}

/// Sixteen pairs at a time, whose angles serve all heads of all sequences.
WEIR_TRAINER_CLONES void rotate(const HeadShape& shape, const float* frequencies, bool back, float* heads) {
  const Index half = shape.size / 2;
  const Index matrices = shape.sequences * shape.heads;
  for (Index position = 0; position < shape.length; ++position)
    for (Index first = 0; first < half; first += kLanes) {
      const Index pairs = std::min(kLanes, half - first);
      float cosines[kLanes], sines[kLanes];
      for (Index at = 0; at < pairs; ++at) {
        const parts::Turn turn = parts::turn_of(static_cast<float>(position) * frequencies[first + at]);
        cosines[at] = turn.cosine;
        sines[at] = back ? -turn.sine : turn.sine;
      }
      for (Index matrix = 0; matrix < matrices; ++matrix) {
        float* const low = heads + (matrix * shape.length + position) * shape.size + first;
        float* const high = low + half;
        for (Index at = 0; at < pairs; ++at) {
          const float before = low[at];
          low[at] = before * cosines[at] - high[at] * sines[at];
          high[at] = high[at] * cosines[at] + before * sines[at];
        }
      }
    }
}

}  // namespace weir::trainer
