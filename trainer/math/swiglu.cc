// SPDX-License-Identifier: Apache-2.0

#include "trainer/math/row_parts.h"
#include "trainer/math/rows.h"

namespace weir::trainer {

WEIR_TRAINER_CLONES void swiglu_forward(Index count, const float* gate, const float* up, float* out) {
  Index at = 0;
  for (; at + kLanes <= count; at += kLanes) {
    const Lanes x = load(gate + at);
    store(out + at, x * parts::logistic(x) * load(up + at));
  }
  if (at < count) {
    const Lanes x = load_first(gate + at, count - at, 0.0f);
    store_first(out + at, x * parts::logistic(x) * load_first(up + at, count - at, 0.0f), count - at);
  }
}

WEIR_TRAINER_CLONES void swiglu_backward(Index count, const float* gate, const float* up, float* gradient,
                                         float* gate_gradient) {
  Index at = 0;
  for (; at + kLanes <= count; at += kLanes) {
    const Lanes x = load(gate + at);
    const Lanes out = load(gradient + at);
    store(gate_gradient + at, out * load(up + at) * parts::silu_gradient(x));
    store(gradient + at, out * (x * parts::logistic(x)));
  }
  if (at < count) {
    const Index rest = count - at;
    const Lanes x = load_first(gate + at, rest, 0.0f);
    const Lanes out = load_first(gradient + at, rest, 0.0f);
    store_first(gate_gradient + at, out * load_first(up + at, rest, 0.0f) * parts::silu_gradient(x), rest);
    store_first(gradient + at, out * (x * parts::logistic(x)), rest);
  }
}

}  // namespace weir::trainer
