// SPDX-License-Identifier: Apache-2.0

#include "src/core/staged/staging.h"

#include <algorithm>
#include <bit>

namespace weir::core {
namespace {

constexpr size_t kSmallest = size_t{64} << 10;

}  // namespace

Status Staging::reserve(size_t bytes) {
  if (bytes <= slots().bytes) return {};
  auto block = Pinned::allocate(gpu_, slots_ * std::bit_ceil(std::max(bytes, kSmallest)));
  WEIR_TRY(block.status());
  std::lock_guard lock(mutex_);
  blocks_.push_back(std::move(*block));
  return {};
}

Staging::Slots Staging::slots() const {
  std::lock_guard lock(mutex_);
  Slots slots;
  if (blocks_.empty()) return slots;
  slots.bytes = blocks_.back().bytes() / slots_;
  for (size_t i = 0; i < slots_; ++i) slots.memory[i] = blocks_.back().data() + i * slots.bytes;
  return slots;
}

size_t Staging::bytes() const {
  std::lock_guard lock(mutex_);
  size_t all = 0;
  for (const Pinned& block : blocks_) all += block.bytes();
  return all;
}

}  // namespace weir::core
