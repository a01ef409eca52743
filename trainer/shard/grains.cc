#include "trainer/shard/grains.h"

#include <algorithm>
#include <bit>

namespace weir::shard {

GrainTree::GrainTree(uint64_t grains) : grains_(std::max<uint64_t>(grains, 1)) {
  while (uint64_t{1} << levels_ < grains_) ++levels_;
}

std::optional<Node> GrainTree::sibling(Node node) const {
  const Node other{node.level, node.index ^ 1};
  return has(other) ? std::optional<Node>(other) : std::nullopt;
}

std::vector<Node> GrainTree::cover(GrainRange range) const {
  std::vector<Node> nodes;
  // Nodes at the right border also cover places where no grains are.
  const uint64_t end = range.end == grains_ ? uint64_t{1} << levels_ : range.end;
  for (uint64_t at = range.first; at < range.end;) {
    int level = at == 0 ? levels_ : std::countr_zero(at);
    while (at + (uint64_t{1} << level) > end) --level;
    nodes.push_back(Node{level, at >> level});
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
