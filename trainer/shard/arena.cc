// SPDX-License-Identifier: Apache-2.0

#include "trainer/shard/arena.h"

#include <algorithm>
#include <iterator>

namespace weir::shard {

Arena::Arena(Memory memory) : memory_(std::move(memory)) { gaps_.emplace(0, memory_.bytes()); }

Result<Arena> Arena::make(size_t bytes, GpuOps* gpu) {
  Result<Memory> memory = Memory::allocate(std::max(rounded(bytes), kAlignment), gpu);
  if (!memory.ok()) return memory.status();
  return Arena(std::move(*memory));
}

char* Arena::take(size_t bytes) {
  const size_t length = std::max(rounded(bytes), kAlignment);
  const auto gap =
      std::find_if(gaps_.begin(), gaps_.end(), [&](const auto& entry) { return entry.second >= length; });
  if (gap == gaps_.end()) return nullptr;
  const auto [offset, room] = *gap;
  gaps_.erase(gap);
  if (room > length) gaps_.emplace(offset + length, room - length);
  taken_.emplace(offset, length);
  return memory_.data() + offset;
}

void Arena::give(char* start) {
  const auto found = taken_.find(static_cast<size_t>(start - memory_.data()));
  auto [offset, length] = *found;
  taken_.erase(found);
  auto after = gaps_.lower_bound(offset);
  if (after != gaps_.end() && after->first == offset + length) {
    length += after->second;
    after = gaps_.erase(after);
  }
  if (after != gaps_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      before->second += length;
      return;
    }
  }
  gaps_.emplace(offset, length);
}

}  // namespace weir::shard
