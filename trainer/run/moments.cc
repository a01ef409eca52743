// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/moments.h"

#include <algorithm>
#include <utility>

namespace weir::trainer {

Result<Moments> Moments::make(const ParameterTable& table, const shard::Range& own, bool split,
                              gpu::GpuOps* gpu) {
  Moments moments;
  moments.split = split;
  auto floats = static_cast<Index>(own.count);
  auto mean = Array::make(floats, gpu);
  WEIR_TRY(mean.status());
  moments.mean = std::move(*mean);
  if (split) {
    moments.vectors = vectors_in(table, static_cast<Index>(own.first), static_cast<Index>(own.end()));
    floats = 0;
    for (const auto& [first, end] : moments.vectors) floats += end - first;
  }
  auto variance = Array::make(floats, gpu);
  WEIR_TRY(variance.status());
  moments.variance = std::move(*variance);
  return moments;
}

std::vector<float> Moments::whole_variance(const shard::Range& own) {
  if (!split) return {};
  std::vector<float> whole(own.count);
  const float* next = variance.data();
  for (const auto& [first, end] : vectors) {
    std::copy_n(next, end - first, whole.begin() + (first - static_cast<Index>(own.first)));
    next += end - first;
  }
  return whole;
}

}  // namespace weir::trainer
