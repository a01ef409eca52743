// What touches each element by itself: sums, bfloat16, AdamW.
#include <cmath>

#include "trainer/math/bfloat16.h"
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

WEIR_TRAINER_CLONES void adamw_step(const AdamW& settings, Index count, float* parameters,
                                    const float* gradients, float* mean, float* variance) {
  const AdamW set = settings;  // a copy that the arrays cannot change
  const double step = static_cast<double>(set.step);
  const float mean_factor = static_cast<float>(1.0 / (1.0 - std::pow(static_cast<double>(set.beta1), step)));
  const float variance_factor =
      static_cast<float>(1.0 / (1.0 - std::pow(static_cast<double>(set.beta2), step)));
  const float kept = 1.0f - set.learning_rate * set.weight_decay;
  for (Index at = 0; at < count; ++at) {
    const float gradient = gradients[at] * set.gradient_scale;
    mean[at] = set.beta1 * mean[at] + (1.0f - set.beta1) * gradient;
    variance[at] = set.beta2 * variance[at] + (1.0f - set.beta2) * gradient * gradient;
    const float root = std::sqrt(variance[at] * variance_factor);
    parameters[at] =
        kept * parameters[at] - set.learning_rate * (mean[at] * mean_factor) / (root + set.epsilon);
  }
}

}  // namespace weir::trainer
