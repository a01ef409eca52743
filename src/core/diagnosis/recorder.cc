// SPDX-License-Identifier: Apache-2.0

#include "src/core/diagnosis/recorder.h"

#include <algorithm>

namespace weir::core {
namespace {

/// The low bits of pack().
Collective kind_of(uint64_t what) { return static_cast<Collective>(what & 0x7f); }

}  // namespace

void Recorder::forget() {
  for (size_t i = 0; i <= mask_; ++i) entries_[i].number.store(0, std::memory_order_relaxed);
  for (Counters& counters : counters_) {
    counters.begun.store(0, std::memory_order_relaxed);
    counters.bytes.store(0, std::memory_order_relaxed);
  }
  timed_ = nullptr;
  timed_calls_.forget();
  ended_.store(0, std::memory_order_release);
  begun_.store(0, std::memory_order_release);
}

std::shared_ptr<ChannelCounters> Recorder::add_channel(Rank peer, uint32_t number, bool sends,
                                                       std::string transport) {
  if (!on()) return nullptr;
  auto counters = std::make_shared<ChannelCounters>(peer, number, sends, std::move(transport));
  const std::lock_guard lock(mutex_);
  channels_.push_back(counters);
  return counters;
}

int64_t Recorder::timed_before(int64_t ns) const {
  const int64_t last = timed_calls_.last_ns();
  return last < ns ? last : timed_calls_.before_ns();
}

bool Recorder::read(uint64_t number, RecordedOperation& out, bool& beside) const {
  const Entry& entry = entries_[number & mask_];
  if (entry.number.load(std::memory_order_acquire) != number) return false;
  out.number = number;
  out.sequence = entry.sequence.load(std::memory_order_acquire);
  out.what = entry.what.load(std::memory_order_acquire);
  out.count = entry.count.load(std::memory_order_acquire);
  const uint64_t mark = entry.mark.load(std::memory_order_acquire);
  out.signature = static_cast<uint32_t>(mark);
  beside = (mark & kBeside) != 0;
  out.plan = entry.plan.load(std::memory_order_acquire);
  out.begun_ns = entry.begun_ns.load(std::memory_order_acquire);
  out.ended_ns = entry.ended_ns.load(std::memory_order_acquire);
  return entry.number.load(std::memory_order_relaxed) == number;
}

std::vector<RecordedOperation> Recorder::recent(size_t most) const {
  std::vector<RecordedOperation> out;
  if (!on()) return out;
  const uint64_t ended = ended_.load(std::memory_order_acquire);
  const uint64_t begun = begun_.load(std::memory_order_acquire);
  const uint64_t kept = std::min<uint64_t>(begun, capacity_);
  int64_t latest_ns = 0;
  for (uint64_t number = begun - kept + 1; number <= begun; ++number) {
    RecordedOperation one;
    if (bool beside; !read(number, one, beside)) continue;
    one.exact = one.begun_ns != 0;
    one.ended = number <= ended;
    if (!one.exact) one.begun_ns = latest_ns;
    latest_ns = std::max(one.begun_ns, one.ended_ns);
    if (begun - number < most) out.push_back(one);
  }
  // What was timed before these may have been overwritten.
  const auto first = std::ranges::find_if(out, &RecordedOperation::exact);
  const int64_t before_ns = timed_before(first != out.end() ? first->begun_ns : INT64_MAX);
  for (auto one = out.begin(); one != first && one->begun_ns == 0; ++one) one->begun_ns = before_ns;
  return out;
}

std::optional<RecordedOperation> Recorder::with_sequence(uint64_t sequence) const {
  std::optional<RecordedOperation> out;
  const uint64_t begun = begun_.load(std::memory_order_acquire);
  for (uint64_t back = 0; back < std::min<uint64_t>(begun, mask_ + 1); ++back) {
    RecordedOperation one;
    bool beside = false;
    if (!read(begun - back, one, beside) || one.sequence != sequence) continue;
    out = one;
    if (!beside) break;
  }
  return out;
}

std::array<Recorder::Count, kCollectives> Recorder::counts() const {
  std::array<Count, kCollectives> out;
  for (size_t kind = 0; kind < out.size(); ++kind) {
    out[kind].begun = counters_[kind].begun.load(std::memory_order_relaxed);
    out[kind].ended = out[kind].begun;
    out[kind].bytes = counters_[kind].bytes.load(std::memory_order_relaxed);
  }
  for (const RecordedOperation& one : recent(SIZE_MAX)) {
    if (Count& count = out[static_cast<size_t>(kind_of(one.what))]; !one.ended && count.ended > 0)
      --count.ended;
  }
  return out;
}

std::vector<std::shared_ptr<const ChannelCounters>> Recorder::channels() const {
  const std::lock_guard lock(mutex_);
  return {channels_.begin(), channels_.end()};
}

}  // namespace weir::core
