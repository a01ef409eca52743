// SPDX-License-Identifier: Apache-2.0

#include "src/core/grains/grain_tree.h"

#include <algorithm>
#include <bit>

namespace weir::core {

GrainTree::GrainTree(uint64_t grains) : grains_(std::max<uint64_t>(grains, 1)) {
  while (levels_ < 63 && uint64_t{1} << levels_ < grains_) ++levels_;
}

std::optional<GrainNode> GrainTree::sibling(GrainNode node) const {
  const GrainNode other{node.level, node.index ^ 1};
  return has(other) ? std::optional<GrainNode>(other) : std::nullopt;
}

std::vector<GrainNode> GrainTree::cover(GrainRange range) const {
  std::vector<GrainNode> nodes;
  // Nodes at the right border also cover indices without grains.
  const uint64_t end = range.end == grains_ ? uint64_t{1} << levels_ : range.end;
  for (uint64_t at = range.first; at < range.end;) {
    int level = at == 0 ? levels_ : std::countr_zero(at);
    while (at + (uint64_t{1} << level) > end) --level;
    nodes.push_back(GrainNode{level, at >> level});
    at += uint64_t{1} << level;
  }
  return nodes;
}

float tree_sum(std::span<const float> values) {
  std::vector<float> level(values.begin(), values.end());
  while (level.size() > 1) {
    const size_t pairs = level.size() / 2;
    for (size_t pair = 0; pair < pairs; ++pair) level[pair] = level[2 * pair] + level[2 * pair + 1];
    if (level.size() % 2 == 1) level[pairs] = level.back();
    level.resize((level.size() + 1) / 2);
  }
  return level.empty() ? 0.0F : level[0];
}

}  // namespace weir::core
