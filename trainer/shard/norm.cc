// SPDX-License-Identifier: Apache-2.0

#include "trainer/shard/norm.h"

#include <algorithm>

namespace weir::shard {
namespace {

size_t blocks_of(size_t count) { return (count + kNormBlock - 1) / kNormBlock; }

}  // namespace

void square_blocks(std::span<const float> values, float* sums) {
  constexpr size_t kLanes = 16;
  for (size_t first = 0; first < values.size(); first += kNormBlock) {
    const std::span<const float> block = values.subspan(first, std::min(kNormBlock, values.size() - first));
    float lanes[kLanes] = {};
    size_t at = 0;
    for (; at + kLanes <= block.size(); at += kLanes)
      for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += block[at + lane] * block[at + lane];
    for (size_t lane = 0; at + lane < block.size(); ++lane)
      lanes[lane] += block[at + lane] * block[at + lane];
    for (size_t half = kLanes / 2; half > 0; half /= 2)
      for (size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    *sums++ = lanes[0];
  }
}

size_t norm_blocks(const Unit& unit) {
  size_t blocks = 0;
  for (const ContiguousRange& stretch : stretches_in(unit, {0, unit.parameters}))
    if (stretch.counts) blocks += blocks_of(stretch.count);
  return blocks;
}

std::vector<NormPart> norm_parts(const Unit& unit, const Range& own) {
  std::vector<NormPart> parts;
  size_t before = 0;  // norm blocks of the earlier stretches
  for (const ContiguousRange& stretch : stretches_in(unit, {0, unit.parameters})) {
    if (!stretch.counts) continue;
    size_t first = std::max(stretch.first, own.first);
    const size_t end = std::min(stretch.first + stretch.count, own.end());
    if (first < end && (first - stretch.first) % kNormBlock != 0) {
      const size_t block = (first - stretch.first) / kNormBlock;
      const size_t block_end = std::min(end, stretch.first + (block + 1) * kNormBlock);
      parts.push_back({{first, block_end - first}, before + block});
      first = block_end;
    }
    if (first < end) parts.push_back({{first, end - first}, before + (first - stretch.first) / kNormBlock});
    before += blocks_of(stretch.count);
  }
  return parts;
}

}  // namespace weir::shard
