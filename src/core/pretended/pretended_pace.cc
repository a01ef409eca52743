// SPDX-License-Identifier: Apache-2.0

#include "src/core/pretended/pretended_pace.h"

#include <time.h>

#include <algorithm>
#include <cmath>

#include "src/base/log.h"
#include "src/base/text.h"

namespace weir::core {
namespace {

/// A machine that takes so much longer is too slow.
constexpr double kTolerance = 1.1;

void sleep_until(int64_t ns) {
  timespec time{};
  time.tv_sec = ns / 1'000'000'000;
  time.tv_nsec = ns % 1'000'000'000;
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);
}

/// In slices, since nobody rings when a communicator is aborted.
void wait_until(int64_t ns, const std::atomic<bool>& aborted) {
  constexpr int64_t kSlice = 10 * kNsPerMs;
  for (int64_t now = now_ns(); now < ns && !aborted.load(std::memory_order_relaxed); now = now_ns())
    sleep_until(std::min(ns, now + kSlice));
}

}  // namespace

PretendedPace::Clock PretendedPace::Clock::real() { return {&now_ns, &wait_until}; }

Result<double> PretendedPace::seconds(std::span<const Operation> operations) const {
  double collectives = 0, sent = 0, received = 0;
  for (const Operation& operation : operations) {
    if (const auto* const one = std::get_if<CollectiveOp>(&operation)) {
      const size_t bytes = one->count * size_of(one->type);
      const ir::LoadedPlan* asked = one->plan;
      if (asked == nullptr && with_.loaded != nullptr)
        asked = with_.loaded->find(one->kind, one->root, bytes);
      const auto found = with_.times->of_collective(one->kind, one->root, bytes, asked);
      WEIR_TRY(found.status());
      collectives += *found;
    } else if (is_pair(operation)) {
      const bool sends = std::holds_alternative<SendOp>(operation);
      const Rank peer = peer_of(operation);
      const auto found =
          with_.times->of_message(sends ? with_.rank : peer, sends ? peer : with_.rank, bytes_of(operation));
      WEIR_TRY(found.status());
      (sends ? sent : received) += *found;
    }
  }
  return collectives + std::max(sent, received);
}

void PretendedPace::begin(std::span<const Operation> operations) {
  const auto found = with_.scale > 0 ? seconds(operations) : Result<double>(0.0);
  if (!found.ok() && !failed_) {
    failed_ = true;
    WEIR_WARN("WEIR_PRETEND: calls whose times cannot be simulated take as long as this machine needs: {}",
              found.status().message());
  }
  wanted_ = found.ok() ? std::llround(*found * with_.scale * 1e9) : 0;
  const auto collectives = static_cast<uint64_t>(
      std::ranges::count_if(operations, [](const Operation& one) { return !is_point_to_point(one); }));
  number_ = collectives > 0 ? collectives_ + 1 : 0;
  collectives_ += collectives;
  if (!operations.empty()) first_ = summary_of(operations.front());
  begun_ = with_.clock.now();
  if (number_ > 0 && !with_.begins.empty())
    with_.begins[static_cast<size_t>(with_.rank)]->put(number_, begun_);
}

void PretendedPace::end(const std::atomic<bool>& aborted) {
  if (wanted_ == 0) return;
  const int64_t done = with_.clock.now();
  const int64_t begun = last_begin(done);
  warn_if_slow(done - begun, wanted_);
  with_.clock.wait(begun + wanted_, aborted);
}

/// When the last rank began, of those that had begun at `done`.
int64_t PretendedPace::last_begin(int64_t done) const {
  int64_t last = begun_;
  if (number_ == 0) return last;
  for (const BeginTimes* const other : with_.begins) {
    const auto began = other->at(number_);
    if (began && *began <= done) last = std::max(last, *began);
  }
  return last;
}

void PretendedPace::warn_if_slow(int64_t took, int64_t wanted) {
  const double factor = static_cast<double>(took) / static_cast<double>(wanted);
  if (warned_ || factor <= kTolerance) return;
  warned_ = true;
  WEIR_WARN(
      "WEIR_PRETEND: this machine is too slow for the cluster: {} took rank {} {} here, {:.3g} times the {} "
      "that it pretends; with @{:.0f} behind the file all calls would take that many times longer than there",
      describe(first_), with_.rank, seconds_words(static_cast<double>(took) * 1e-9), factor,
      seconds_words(static_cast<double>(wanted) * 1e-9), std::ceil(with_.scale * factor));
}

}  // namespace weir::core
