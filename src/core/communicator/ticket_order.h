// SPDX-License-Identifier: Apache-2.0
/// Keeps the operations of a communicator in issue order, whichever threads (streams) carry them out.
///
/// Thread-safe. While nothing was ever queued, passing costs a load.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace weir::core {

class TicketOrder {
 public:
  /// Draws a number, in issue order.
  uint64_t draw() { return drawn_.fetch_add(1, std::memory_order_relaxed); }
  /// Waits until all smaller numbers have left.
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
  /// True if everybody who drew a number has left.
  bool idle() const {
    return left_.load(std::memory_order_acquire) == drawn_.load(std::memory_order_acquire);
  }
  /// Afterwards nobody is in leave() any more: the object may go.
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
