// SPDX-License-Identifier: Apache-2.0
/// An issued operation: PyTorch's Work.
///
/// Thread-safe. It holds its queue and its output tensors; its other tensors must live until it is done.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "python/weir_torch/gpu.h"
#include "python/weir_torch/task_context.h"
#include "python/weir_torch/task_queue.h"

namespace weir_torch {

/// What is known of a task when it is issued.
struct TaskFacts {
  c10d::OpType type;
  std::string what;  ///< name for errors
  Tensors outputs;
  Tensors inputs;  ///< for PyTorch's profiler
  Milliseconds timeout;
  GpuPassagePtr passage{};  ///< for an operation on a GPU, the passage in which its body runs; else null
};

class Task final : public c10d::Work {
 public:
  /// `queue`: the queue that runs it; null: another object finishes it, and wait() allows it its timeout.
  /// `context`: null for a task that only the group knows of. `body` executes it and may throw.
  Task(std::shared_ptr<TaskQueue> queue, TaskContextPtr context, TaskFacts facts, std::function<void()> body);

  /// For a GPU: the work was queued on the GPU.
  bool done() const { return done_.load(std::memory_order_acquire); }
  /// Executes it, unless it was already finished.
  void run();
  /// Finishes it; only the first call has an effect.
  void finish(std::exception_ptr error);
  void set_source(int rank) { source_.store(rank, std::memory_order_relaxed); }

  bool isCompleted() override {
    return done() && (facts_.passage == nullptr || failed() || facts_.passage->over());
  }
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  int sourceRank() const override { return source_.load(std::memory_order_relaxed); }
  Tensors result() override;
  /// Makes the current stream wait for the GPU's work.
  void synchronize() override;
  /// Throws the operation's error, or an error if it was not done within `timeout` (not positive: the
  /// operation's own timeout).
  bool wait(Milliseconds timeout) override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  // Not `override` from here on: older versions of PyTorch do not know them.
  /// How long the body took, in milliseconds. Throws if tasks of the group were not timed when it ended.
  float getDuration() const;
  std::chrono::milliseconds getTimeout() const { return facts_.timeout; }
  /// Identifies it to completion hooks.
  uint64_t getCompletionKey() const { return key_; }

 private:
  /// Returns false if it was not done within this time.
  bool await(Milliseconds timeout);
  bool failed() const { return exception() != nullptr; }
  std::optional<float> took() const;
  std::function<void()> completion_of(c10::intrusive_ptr<c10::ivalue::Future> future) const;

  const std::shared_ptr<TaskQueue> queue_;
  const TaskContextPtr context_;
  const uint64_t key_;
  TaskFacts facts_;
  std::function<void()> body_;
  std::atomic<bool> done_{false};
  std::atomic<int> source_{-1};
  mutable std::mutex state_mutex_;
  std::condition_variable finished_;
  int waiters_ = 0;
  std::exception_ptr error_;
  std::optional<float> took_;  ///< milliseconds, if tasks are timed
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

}  // namespace weir_torch
