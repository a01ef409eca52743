// SPDX-License-Identifier: Apache-2.0

#include "trainer/shard/limiter.h"

#include <algorithm>

namespace weir::shard {

bool Limiter::fits(int gathers, size_t bytes) const {
  return (options_.gathers == 0 || gathers <= options_.gathers) &&
         (options_.bytes == 0 || bytes <= options_.bytes);
}

bool Limiter::admit(uint64_t number, size_t bytes, bool room) {
  bool admitted = room;
  if (options_.kind == Limit::sliding) admitted = room && fits(gathers_ + 1, bytes_ + bytes);
  if (options_.kind == Limit::block) {
    admitted = room && !block_full_ && fits(block_gathers_ + 1, block_bytes_ + bytes);
    if (!admitted && !block_full_) {
      block_full_ = true;
      ++counts_.flushes;
    }
  }
  if (!admitted) {
    if (number != last_held_) ++counts_.held;
    last_held_ = number;
    return false;
  }
  ++counts_.gathers;
  ++gathers_;
  bytes_ += bytes;
  ++block_gathers_;
  block_bytes_ += bytes;
  counts_.most_gathers = std::max(counts_.most_gathers, gathers_);
  counts_.most_bytes = std::max(counts_.most_bytes, bytes_);
  return true;
}

void Limiter::release(size_t bytes) {
  --gathers_;
  bytes_ -= bytes;
  if (gathers_ > 0) return;
  block_gathers_ = 0;
  block_bytes_ = 0;
  block_full_ = false;
}

}  // namespace weir::shard
