// SPDX-License-Identifier: Apache-2.0

#include "src/core/channels/speed_record.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace weir::core {
namespace {

template <typename Values>
double median_of(const Values& values) {
  std::vector<double> sorted(values.begin(), values.end());
  const auto middle = sorted.begin() + static_cast<ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  return *middle;
}

}  // namespace

double SpeedRecord::past_of(const One& one) { return one.past.size() < kLeastPast ? 0 : median_of(one.past); }

SpeedRecord::Change SpeedRecord::add(const Kind& kind, double bytes_per_s, uint64_t call) {
  const uint64_t before = std::exchange(call_, call);
  auto found = std::ranges::find(kinds_, kind, &One::kind);
  if (found == kinds_.end()) {
    if (kinds_.size() == kMostKinds) kinds_.pop_back();
    found = kinds_.insert(kinds_.begin(), One{});
    found->kind = kind;
  }
  kinds_.splice(kinds_.begin(), kinds_, found);
  One& one = kinds_.front();
  if (one.filled == 0) one.block_began = before;
  one.block[one.filled++] = bytes_per_s;
  if (one.filled < kBlock) return Change::none;
  one.filled = 0;
  return judge(one);
}

void SpeedRecord::remember(One& one) {
  if (++one.skipped < one.stride) return;
  one.skipped = 0;
  one.past.push_back(one.median);
  if (one.past.size() < kMostPast) return;
  for (size_t i = 0; 2 * i < one.past.size(); ++i) one.past[i] = one.past[2 * i];
  one.past.resize(kMostPast / 2);
  one.stride *= 2;
}

SpeedRecord::Change SpeedRecord::judge(One& one) {
  one.median = median_of(one.block);
  const double past = past_of(one);
  if (past > 0 && one.median < kSlow * past) {
    if (++one.slow_blocks == 1) one.since = one.block_began;
    if (one.slow || one.slow_blocks < kSlowBlocks) return Change::none;
    one.slow = true;
    return Change::slow;
  }
  if (one.slow && one.median < kRecovered * past) return Change::none;
  one.slow_blocks = 0;
  one.since = one.block_began;
  remember(one);
  return std::exchange(one.slow, false) ? Change::recovered : Change::none;
}

}  // namespace weir::core
