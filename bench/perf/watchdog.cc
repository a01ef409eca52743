// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/watchdog.h"

namespace weir::perf {

Watchdog::Watchdog(int seconds, int threads, std::function<void()> late)
    : seconds_(seconds), deadlines_(static_cast<size_t>(threads)), late_(std::move(late)) {
  if (seconds_ > 0) thread_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::watch() {
  constexpr auto kPeriod = std::chrono::milliseconds(50);
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kPeriod, [this] { return stop_; })) {
    for (const std::atomic<Clock::rep>& deadline : deadlines_) {
      Clock::rep at = deadline;
      if (at == 0 || Clock::now().time_since_epoch().count() < at) continue;
      late_();
      return;
    }
  }
}

}  // namespace weir::perf
