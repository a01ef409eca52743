// SPDX-License-Identifier: Apache-2.0
/// Keeps the operations of a communicator in issue order, whichever threads (streams) carry them out.
///
/// Thread-safe. An uncontended enter() costs one load.
/// Tests: tests/api/life_test.cc, tests/conform/semantics_test.cc
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace weir::core {

class TicketOrder {
 public:
  /// Draws the next ticket number.
  uint64_t draw() { return drawn_.fetch_add(1, std::memory_order_relaxed); }
  /// Waits until the holders of all smaller numbers have left.
  void enter(uint64_t number) {
    if (left_.load(std::memory_order_acquire) == number) return;
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return left_.load(std::memory_order_acquire) == number; });
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    left_.fetch_add(1, std::memory_order_release);
    moved_.notify_all();
  }
  /// True if the holders of all drawn numbers have left.
  bool idle() const {
    return left_.load(std::memory_order_acquire) == drawn_.load(std::memory_order_acquire);
  }
  /// Waits until idle(). Afterwards no thread is inside leave(), so the object may be destroyed.
  void wait_idle() {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return idle(); });
  }

 private:
  std::atomic<uint64_t> drawn_{0};
  std::atomic<uint64_t> left_{0};
  std::mutex mutex_;
  std::condition_variable moved_;
};

}  // namespace weir::core
