// SPDX-License-Identifier: Apache-2.0
/// Watchdog for -T: a wait that takes longer than the option allows ends the process.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "bench/perf/control.h"

namespace weir::perf {

/// Each thread arms its own deadline. With 0 seconds there are no deadlines, and no thread is started.
class Watchdog {
 public:
  /// `late` is called once, in the watchdog's thread.
  Watchdog(int seconds, int threads, std::function<void()> late);
  ~Watchdog();

  void arm(int thread) {
    deadline(thread) =
        seconds_ > 0 ? (Clock::now() + std::chrono::seconds(seconds_)).time_since_epoch().count() : 0;
  }
  void disarm(int thread) { deadline(thread) = 0; }

 private:
  std::atomic<Clock::rep>& deadline(int thread) { return deadlines_[static_cast<size_t>(thread)]; }
  void watch();

  const int seconds_;
  std::vector<std::atomic<Clock::rep>> deadlines_;  ///< 0: not armed
  std::function<void()> late_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace weir::perf
