// SPDX-License-Identifier: Apache-2.0
/// An operation that was asked for: what PyTorch calls Work.
///
/// Thread-safe. It keeps its queue and the tensors that it writes; what else it works on must live until it
/// is done.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "python/weir_torch/gpu.h"
#include "python/weir_torch/task_queue.h"

namespace weir_torch {

class Task final : public c10d::Work {
 public:
  /// `queue`: where it is queued; null: somebody else finishes it, and wait() has `timeout` to see that.
  /// `what`: for errors. `body` carries it out and may throw. `passage`: of an operation on a GPU, in which
  /// `body` does its work; else null.
  Task(std::shared_ptr<TaskQueue> queue, c10d::OpType type, std::string what, Tensors outputs,
       Milliseconds timeout, std::function<void()> body, GpuPassagePtr passage = nullptr);

  /// For a GPU: it has been given its work.
  bool done() const { return done_.load(std::memory_order_acquire); }
  /// Carries it out, unless somebody else has finished it.
  void run();
  /// Ends it; only the first call counts.
  void finish(std::exception_ptr error);
  void set_source(int rank) { source_.store(rank, std::memory_order_relaxed); }

  bool isCompleted() override { return done() && (passage_ == nullptr || failed() || passage_->over()); }
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  int sourceRank() const override { return source_.load(std::memory_order_relaxed); }
  Tensors result() override;
  /// The current stream waits for the GPU.
  void synchronize() override;
  /// Throws the error of the operation, or that it was not done within `timeout` (not positive: as long as
  /// the operation itself may take).
  bool wait(Milliseconds timeout) override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

 private:
  /// False: it was not done within this time.
  bool await(Milliseconds timeout);
  bool failed() const { return exception() != nullptr; }
  void settle(c10::ivalue::Future& future) const;

  const std::shared_ptr<TaskQueue> queue_;
  const std::string what_;
  const Tensors outputs_;
  const Milliseconds timeout_;
  const GpuPassagePtr passage_;
  std::function<void()> body_;
  std::atomic<bool> done_{false};
  std::atomic<int> source_{-1};
  mutable std::mutex state_mutex_;
  std::condition_variable finished_;
  int waiters_ = 0;
  std::exception_ptr error_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

}  // namespace weir_torch
