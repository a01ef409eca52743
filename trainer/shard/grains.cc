// SPDX-License-Identifier: Apache-2.0

#include "trainer/shard/grains.h"

#include <algorithm>

namespace weir::shard {

GrainPlan::GrainPlan(uint64_t grains, int ranks, uint64_t per_micro)
    : grains_(grains), ranks_(ranks), per_micro_(per_micro) {
  const uint64_t most = (grains + ranks - 1) / ranks;
  if (per_micro_ == 0) per_micro_ = std::max<uint64_t>(most, 1);
  micro_batches_ = static_cast<int>(std::max<uint64_t>((most + per_micro_ - 1) / per_micro_, 1));
}

GrainRange GrainPlan::of(int rank) const {
  return GrainRange{grains_ * rank / ranks_, grains_ * (rank + 1) / ranks_};
}

GrainRange GrainPlan::of(int rank, int micro_batch) const {
  const GrainRange all = of(rank);
  const uint64_t first = std::min(all.first + micro_batch * per_micro_, all.end);
  return GrainRange{first, std::min(first + per_micro_, all.end)};
}

}  // namespace weir::shard
