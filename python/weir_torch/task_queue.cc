// SPDX-License-Identifier: Apache-2.0

#include "python/weir_torch/task_queue.h"

#include <algorithm>

#include "python/weir_torch/task.h"

namespace weir_torch {
namespace {

/// How long a task waits for a thread that waits for it; then the queue's thread takes it.
constexpr std::chrono::microseconds kGrace{200};
/// Between two looks for tasks, while threads that wait take all of them.
constexpr Milliseconds kNap{1};
/// Time without a task after which the thread sleeps until it is notified.
constexpr Milliseconds kAlert{20};
/// So many tasks that waiting threads take make the queue's thread leave the next ones to them.
constexpr int kHelped = 8;

}  // namespace

TaskQueue::~TaskQueue() {
  if (thread_.joinable()) thread_.detach();  // not closed: the process is about to end
}

void TaskQueue::submit(TaskPtr task) {
  std::lock_guard lock(mutex_);
  queue_.push_back(std::move(task));
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  if (asleep_) wake_.notify_one();
}

void TaskQueue::carry_out_first(std::unique_lock<std::mutex>& lock) {
  const TaskPtr task = std::move(queue_.front());
  queue_.pop_front();
  ++taken_;
  busy_ = true;
  lock.unlock();
  task->run();
  lock.lock();
  busy_ = false;
  if (draining_ && queue_.empty()) idle_.notify_all();
}

void TaskQueue::help(const Task& task) {
  std::unique_lock lock(mutex_);
  while (!task.done() && !busy_ && !queue_.empty()) {
    if (help_ == Help::own && queue_.front().get() != &task) {
      urged_ = true;
      break;
    }
    eager_ = std::max(0, eager_ - 1);
    carry_out_first(lock);
  }
  if (!busy_ && (!queue_.empty() || closing_)) wake_.notify_one();
}

void TaskQueue::urge() {
  std::lock_guard lock(mutex_);
  if (queue_.empty()) return;
  urged_ = true;
  wake_.notify_one();
}

bool TaskQueue::drain(Milliseconds longest) {
  std::unique_lock lock(mutex_);
  urged_ = !queue_.empty();
  wake_.notify_one();
  draining_ = true;
  return idle_.wait_for(lock, longest, [this] { return queue_.empty() && !busy_; });
}

void TaskQueue::close() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void TaskQueue::work() {
  std::unique_lock lock(mutex_);
  uint64_t seen = UINT64_MAX;  // value of taken_ when a task was last in the queue
  auto last = Clock::now();
  for (;;) {
    if (busy_) {
      seen = UINT64_MAX;
      wake_.wait_for(lock, kAlert);  // the thread that runs a task continues, or wakes this one
      continue;
    }
    if (queue_.empty()) {
      urged_ = false;
      if (closing_) return;
      seen = UINT64_MAX;
      if (eager_ == 0 && Clock::now() - last < kAlert) {
        wake_.wait_for(lock, kNap);
      } else {
        asleep_ = true;
        wake_.wait(lock);
        asleep_ = false;
        last = Clock::now();
      }
      continue;
    }
    last = Clock::now();
    if (urged_ || closing_ || seen == taken_) {
      eager_ = kHelped;
      carry_out_first(lock);
      seen = taken_;  // whoever waits for the next one has left it to this thread
      continue;
    }
    seen = taken_;
    wake_.wait_for(lock, kGrace);
  }
}

}  // namespace weir_torch
