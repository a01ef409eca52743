// SPDX-License-Identifier: Apache-2.0

#include "src/core/gpu/block_budget.h"

#include <algorithm>

namespace weir::core {

/// REQUIRES: the mutex.
uint32_t BlockBudget::left(const Claim& claim) const {
  uint32_t left = claim.capacity;
  for (const auto& [key, taken] : taken_)
    if (key.first == claim.gpu) left -= std::min(left, taken.blocks * taken.ranks);
  return left;
}

BlockBudget::Share BlockBudget::take(const Claim& claim) {
  Share share;
  const std::lock_guard lock(mutex_);
  const Share::Key key{claim.gpu, claim.uid};
  const auto [known, added] = taken_.try_emplace(key);
  Taken& taken = known->second;
  if (added) {
    const uint32_t free = left(claim);
    const uint32_t usual = free / (claim.alone ? 2 : 4) / claim.ranks;
    const uint32_t most = std::clamp(claim.most, kLeast, kMost);
    const uint32_t blocks = std::clamp(usual, std::clamp(claim.least, kLeast, most), most);
    taken.blocks = std::min(blocks, free / claim.ranks);
    if (taken.blocks < kLeast) taken.blocks = 0;
    taken.ranks = claim.ranks;
  }
  ++taken.holders;
  share.budget_ = this;
  share.key_ = key;
  share.blocks_ = taken.blocks;
  return share;
}

void BlockBudget::Share::keep(uint32_t blocks) {
  if (budget_ == nullptr) return;
  blocks_ = std::min(blocks_, blocks);
  const std::lock_guard lock(budget_->mutex_);
  Taken& taken = budget_->taken_.at(key_);
  taken.blocks = std::min(taken.blocks, blocks);
}

void BlockBudget::Share::give_back() {
  if (budget_ == nullptr) return;
  {
    const std::lock_guard lock(budget_->mutex_);
    const auto taken = budget_->taken_.find(key_);
    if (--taken->second.holders == 0) budget_->taken_.erase(taken);
  }
  budget_ = nullptr;
  blocks_ = 0;
}

}  // namespace weir::core
