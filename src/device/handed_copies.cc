// SPDX-License-Identifier: Apache-2.0

#include "src/device/handed_copies.h"

#include <algorithm>
#include <bit>

#include "src/base/clock.h"
#include "src/device/reduce.h"

namespace weir::device {

void TwoWays::took(float cost) {
  lowest_ = uses_ == 0 ? cost : std::min(lowest_, cost);
  if (++uses_ == kUses) end_round();
}

void TwoWays::end_round() {
  constexpr float kBetter = 0.9f, kClearlyWorse = 1.5f;
  constexpr int kRoundsBetweenTrials = 16, kRoundsIfClear = 128, kLeastRounds = 4;
  uses_ = 0;
  ++rounds_since_;
  if (tries_other_) {
    tries_other_ = false;
    rounds_since_ = 0;
    rounds_to_trial_ = lowest_ > kClearlyWorse * known_ ? kRoundsIfClear : kRoundsBetweenTrials;
    if (lowest_ >= kBetter * known_) return;
    best_ = 1 - best_;
    if (kClearlyWorse * lowest_ < known_) rounds_to_trial_ = kRoundsIfClear;
    known_ = lowest_;
    return;
  }
  // Something has changed where the best way suddenly costs more.
  const bool changed = known_ > 0 && lowest_ > kClearlyWorse * known_ && rounds_since_ >= kLeastRounds;
  known_ = lowest_;
  tries_other_ = --rounds_to_trial_ <= 0 || changed;
}

void HandedCopies::copy(void* dst, const void* src, size_t bytes) {
  if (bytes < kLeastTimed) return device::copy(dst, src, bytes, Traffic::handed);
  const auto size_class = static_cast<size_t>(std::bit_width(bytes / kLeastTimed) - 1);
  TwoWays& ways = ways_[std::min(size_class, kClasses - 1)];
  const bool cached = ways.next() == 0;
  const int64_t begin = now_ns();
  device::copy(dst, src, bytes, cached ? Traffic::handed : Traffic::streaming);
  const float cost = static_cast<float>(now_ns() - begin) / static_cast<float>(bytes);
  ways.took(cached || size_class == 0 ? cost : cost * streaming_weight_);
}

}  // namespace weir::device
