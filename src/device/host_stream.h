// SPDX-License-Identifier: Apache-2.0
/// A stream on host memory: a queue of tasks that a separate thread executes in order. And events, which mark
/// a position in a stream.
///
/// Thread-safe. The destructor of a stream waits for all queued tasks.
/// Tests: tests/device/host_stream_test.cc
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "src/base/status.h"
#include "src/device/once_function.h"

namespace weir::device {

class HostStream {
 public:
  /// Starts the thread. Errors: system_error if no thread can be started.
  static Result<std::unique_ptr<HostStream>> create();
  /// Executes all queued tasks, then ends the thread. Must not be called by a task of this stream.
  ~HostStream();
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;

  /// Queues `task` and returns. Tasks run even after an earlier task has failed, so that threads that wait
  /// for them continue; the first error is kept.
  void submit(OnceFunction task);

  /// Waits for everything queued before the call. Returns the first error of the stream, if any;
  /// invalid_usage if a task of this stream calls it.
  Status synchronize();
  /// Returns the first error, else in_progress while a task is queued or runs, else success.
  Status query() const;

 private:
  HostStream() = default;
  void work();
  void run_one(OnceFunction task);
  /// Polls `condition` for a while before the caller sleeps.
  template <typename Condition>
  static bool poll_until(Condition condition);

  mutable std::mutex mutex_;
  std::condition_variable queued_;  // the stream's thread waits on it for tasks
  std::condition_variable done_;    // callers of synchronize() wait on it
  std::vector<OnceFunction>
      ring_;  // its size is a power of two; entries [completed, submitted) modulo the size are in use
  uint64_t taken_ = 0;
  std::atomic<uint64_t> submitted_{0};
  std::atomic<uint64_t> completed_{0};
  std::atomic<bool> stop_{false};
  std::atomic<bool> failed_{false};
  Status first_error_;
  std::thread thread_;
};

/// Marks a position in a stream. Recording again moves the mark; waits for the old position are not affected.
class HostEvent {
 public:
  HostEvent() = default;
  HostEvent(const HostEvent&) = delete;
  HostEvent& operator=(const HostEvent&) = delete;

  /// Marks the current end of the queue of `stream`; null: the present time.
  void record(HostStream* stream);
  /// in_progress until the stream has reached the mark; then, or if nothing was recorded, success.
  Status query() const;
  /// Waits until the stream has reached the mark. Must not be called on the stream's thread.
  void synchronize() const;
  /// Makes `stream` wait until the mark is reached; null: the caller waits.
  void hold(HostStream* stream) const;

  /// The time from `start` to `stop` in ms. Errors: in_progress while one of them is not reached,
  /// invalid_usage if one was never recorded.
  static Result<float> elapsed_ms(const HostEvent& start, const HostEvent& stop);

 private:
  struct Mark;
  std::shared_ptr<Mark> mark() const;

  mutable std::mutex mutex_;
  std::shared_ptr<Mark> mark_;
};

}  // namespace weir::device
