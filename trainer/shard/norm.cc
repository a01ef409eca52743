#include "trainer/shard/norm.h"

#include <algorithm>

namespace weir::shard {

void square_blocks(std::span<const float> values, float* sums) {
  constexpr size_t kLanes = 16;
  for (size_t first = 0; first < values.size(); first += kNormBlock) {
    const std::span<const float> block = values.subspan(first, std::min(kNormBlock, values.size() - first));
    float lanes[kLanes] = {};
    for (size_t i = 0; i < block.size(); ++i) lanes[i % kLanes] += block[i] * block[i];
    for (size_t half = kLanes / 2; half > 0; half /= 2)
      for (size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    *sums++ = lanes[0];
  }
}

}  // namespace weir::shard
