// SPDX-License-Identifier: Apache-2.0

#include "trainer/parallel/pipeline_schedule.h"

#include <algorithm>

namespace weir::parallel {

int most_in_flight(int stage, int stages, int micro_batches) {
  return std::min(stages - stage, micro_batches);
}

std::vector<shard::Pass> one_forward_one_backward(int stage, int stages, int micro_batches) {
  std::vector<shard::Pass> passes;
  int forward = 0;
  for (const int warm_up = std::min(stages - 1 - stage, micro_batches); forward < warm_up; ++forward)
    passes.push_back({forward, false});
  for (int backward = 0; backward < micro_batches; ++backward) {
    if (forward < micro_batches) passes.push_back({forward++, false});
    passes.push_back({backward, true});
  }
  return passes;
}

}  // namespace weir::parallel
