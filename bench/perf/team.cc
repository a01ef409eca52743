// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/team.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace weir::perf {

Team::Team(Control& control, int threads) : control_(control), threads_(static_cast<size_t>(threads)) {}

Outcome Team::stopped() const {
  return Outcome::failure(ExitCode::internal, "another thread of this process has failed");
}

Outcome Team::meet(int thread, std::span<const double> mine, std::vector<double>* all,
                   Clock::time_point* begin) {
  std::unique_lock lock(mutex_);
  if (failed_) return stopped();
  const size_t bytes = mine.size_bytes();
  if (arrived_ == 0) numbers_.resize(bytes * threads_);
  if (bytes > 0) std::memcpy(numbers_.data() + bytes * static_cast<size_t>(thread), mine.data(), bytes);
  if (++arrived_ == threads_) {
    Outcome met = control_.exchange(numbers_.data(), numbers_.size(), &result_, &begin_);
    arrived_ = 0;
    ++meetings_;
    failed_ = !met.ok();
    changed_.notify_all();
    WEIR_TRY(std::move(met));
  } else {
    // The result cannot be overwritten before all threads have read it, because the next exchange needs every
    // thread.
    changed_.wait(lock, [this, now = meetings_] { return meetings_ != now || failed_; });
    if (failed_) return stopped();
  }
  *begin = begin_;
  if (all != nullptr) {
    all->resize(result_.size() / sizeof(double));
    if (!result_.empty()) std::memcpy(all->data(), result_.data(), result_.size());
  }
  return Outcome();
}

Outcome Team::exchange(int thread, std::span<const double> mine, std::vector<double>* all) {
  Clock::time_point unused;
  return meet(thread, mine, all, &unused);
}

Outcome Team::barrier(int thread) {
  Clock::time_point begin;
  WEIR_TRY(meet(thread, {}, nullptr, &begin));
  while (Clock::now() < begin) {
  }
  return Outcome();
}

Outcome Team::reduce(int thread, double mine, Average how, double* result) {
  std::vector<double> all;
  WEIR_TRY(exchange(thread, {&mine, 1}, &all));
  *result = reduced(all, how);
  return Outcome();
}

Outcome Team::sum(int thread, double mine, double* result) {
  std::vector<double> all;
  WEIR_TRY(exchange(thread, {&mine, 1}, &all));
  *result = std::accumulate(all.begin(), all.end(), 0.0);
  return Outcome();
}

void Team::fail() {
  std::lock_guard lock(mutex_);
  failed_ = true;
  changed_.notify_all();
}

double reduced(std::span<const double> all, Average how) {
  switch (how) {
    case Average::rank_0: return all.front();
    case Average::minimum: return *std::min_element(all.begin(), all.end());
    case Average::maximum: return *std::max_element(all.begin(), all.end());
    default: return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
  }
}

}  // namespace weir::perf
