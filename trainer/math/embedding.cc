// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "trainer/math/rows.h"

namespace weir::trainer {

WEIR_TRAINER_CLONES void embedding_forward(Index rows, Index length, Index width, const Token* tokens,
                                           const float* token_table, const float* position_table,
                                           float* out) {
  for (Index row = 0; row < rows; ++row, out += width) {
    const float* token = token_table + static_cast<Index>(tokens[row]) * width;
    if (position_table == nullptr) {
      std::copy_n(token, width, out);
      continue;
    }
    const float* position = position_table + row % length * width;
    for (Index at = 0; at < width; ++at) out[at] = token[at] + position[at];
  }
}

WEIR_TRAINER_CLONES void embedding_backward(Index rows, Index length, Index width, const Token* tokens,
                                            const float* out_gradient, float* token_table_gradient_sum,
                                            float* position_table_gradient_sum) {
  for (Index row = 0; row < rows; ++row, out_gradient += width) {
    float* token = token_table_gradient_sum + static_cast<Index>(tokens[row]) * width;
    for (Index at = 0; at < width; ++at) token[at] += out_gradient[at];
    if (position_table_gradient_sum == nullptr) continue;
    float* position = position_table_gradient_sum + row % length * width;
    for (Index at = 0; at < width; ++at) position[at] += out_gradient[at];
  }
}

}  // namespace weir::trainer
