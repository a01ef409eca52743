// SPDX-License-Identifier: Apache-2.0

#include "src/core/grains/tree_sums.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::core {

Floats FloatPool::take(size_t length) {
  {
    const std::lock_guard lock(mutex_);
    std::vector<Floats>& idle = idle_[length];
    if (!idle.empty()) {
      Floats array = std::move(idle.back());
      idle.pop_back();
      return array;
    }
  }
  return Floats(length);
}

void FloatPool::give(Floats array) {
  const std::lock_guard lock(mutex_);
  idle_[array.size()].push_back(std::move(array));
}

bool TreeSums::overlaps(GrainNode node) const {
  return std::any_of(waiting_.begin(), waiting_.end(), [&](const auto& entry) {
    const GrainNode& other = entry.first;
    const int level = std::max(node.level, other.level);
    return node.index >> (level - node.level) == other.index >> (level - other.level);
  });
}

Status TreeSums::add(GrainNode node, Floats sum) {
  if (!tree_.has(node) || overlaps(node))
    return Status(
        Code::invalid_argument,
        fmt::format("node {} of level {} {}", node.index, node.level,
                    tree_.has(node) ? "was already added, completely or in part"
                                    : fmt::format("is not in a tree of {} grains", tree_.grains())));
  while (node != tree_.root()) {
    if (const std::optional<GrainNode> sibling = tree_.sibling(node)) {
      const auto found = waiting_.find(*sibling);
      if (found == waiting_.end()) break;
      Floats other = std::move(found->second);
      waiting_.erase(found);
      // Addition of two numbers commutes, so the bits do not depend on which half arrived first.
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
      pool_->give(std::move(other));
    }
    node = GrainTree::parent(node);
  }
  waiting_.emplace(node, std::move(sum));
  return Status();
}

std::vector<std::pair<GrainNode, Floats>> TreeSums::take() {
  std::vector<std::pair<GrainNode, Floats>> sums(std::make_move_iterator(waiting_.begin()),
                                                 std::make_move_iterator(waiting_.end()));
  waiting_.clear();
  std::sort(sums.begin(), sums.end(), [](const auto& a, const auto& b) {
    return a.first.index << a.first.level < b.first.index << b.first.level;
  });
  return sums;
}

}  // namespace weir::core
