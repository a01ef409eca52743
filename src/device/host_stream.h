// SPDX-License-Identifier: Apache-2.0
/// A stream on host memory: a queue of tasks that one thread carries out in order, beside the caller. And
/// events, which mark a place in a stream.
///
/// Thread-safe. A stream outlives what was queued on it: its destructor waits.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "src/device/once_function.h"
#include "weir/status.h"

namespace weir::device {

class HostStream {
 public:
  /// Starts the thread. Errors: system_error where the kernel gives no thread.
  static Result<std::unique_ptr<HostStream>> create();
  /// Carries out what is queued, then ends the thread. Not to be called by a task of this stream.
  ~HostStream();
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;

  /// Queues `task` and returns. Tasks run even after one before them has failed, so that what waits for them
  /// goes on; the first error is kept.
  void submit(OnceFunction task);

  /// Waits for everything queued before the call. The first error of the stream, if there was one;
  /// invalid_usage when a task of this stream asks.
  Status synchronize();
  /// The first error, else in_progress while something is queued or runs, else success.
  Status query() const;

 private:
  HostStream() = default;
  void work();
  void run_one(OnceFunction task);
  /// Looks at `condition` for a while before the caller sleeps.
  template <typename Condition>
  static bool poll_until(Condition condition);

  mutable std::mutex mutex_;
  std::condition_variable queued_;  // the thread waits
  std::condition_variable done_;    // those in synchronize wait
  std::vector<OnceFunction> ring_;  // a power of two of places; [done, submitted) modulo its size are in use
  uint64_t taken_ = 0;
  std::atomic<uint64_t> submitted_{0};
  std::atomic<uint64_t> completed_{0};
  std::atomic<bool> stop_{false};
  std::atomic<bool> failed_{false};
  Status first_error_;
  std::thread thread_;
};

/// Marks a place in a stream. Recording again moves the mark; whoever waited for the old place still does.
class HostEvent {
 public:
  HostEvent() = default;
  HostEvent(const HostEvent&) = delete;
  HostEvent& operator=(const HostEvent&) = delete;

  /// Marks the end of what is queued on `stream` now; null: this moment.
  void record(HostStream* stream);
  /// in_progress until the stream has come to the mark. Success if nothing was recorded.
  Status query() const;
  /// Waits until it has. The calling thread must not be that of the stream.
  void synchronize() const;
  /// Lets `stream` go no further before the mark was reached; null: the caller waits.
  void hold(HostStream* stream) const;

  /// Milliseconds from one mark to another. Errors: in_progress while one was not reached, invalid_usage when
  /// one was never recorded.
  static Result<float> elapsed_ms(const HostEvent& start, const HostEvent& stop);

 private:
  struct Mark;
  std::shared_ptr<Mark> mark() const;

  mutable std::mutex mutex_;
  std::shared_ptr<Mark> mark_;
};

}  // namespace weir::device
