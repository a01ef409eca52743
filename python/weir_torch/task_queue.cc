// SPDX-License-Identifier: Apache-2.0

#include "python/weir_torch/task_queue.h"

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

#include "python/weir_torch/task.h"

namespace weir_torch {
namespace {

/// How long a task waits for a thread that waits for it; then the queue's thread takes it.
constexpr std::chrono::microseconds kGrace{200};
/// Between two looks for tasks, while threads that wait take all of them.
constexpr Milliseconds kNap{1};
/// Time without a task after which the thread sleeps until it is notified.
constexpr Milliseconds kAlert{20};
/// With so many hooks the thread no longer waits for a moment without tasks to call them.
constexpr size_t kMostHooks = 64;
/// So many tasks that waiting threads take make the queue's thread leave the next ones to them.
constexpr int kHelped = 8;

/// What the task on this thread has completed, and its hooks; null: no task runs on it.
thread_local TaskQueue::Ended* ended_by_task = nullptr;
/// The queue for which this thread completes a future.
thread_local const TaskQueue* completing_for = nullptr;

/// Sets a variable of this thread during its lifetime.
template <typename T>
class During {
 public:
  During(T& variable, T value) : variable_(variable), before_(std::exchange(variable, value)) {}
  ~During() { variable_ = before_; }
  During(const During&) = delete;
  During& operator=(const During&) = delete;

 private:
  T& variable_;
  const T before_;
};

}  // namespace

void TaskQueue::submit(TaskPtr task) {
  std::lock_guard lock(mutex_);
  queue_.push_back(std::move(task));
  call_for_leader();
  if (asleep_) wake_.notify_one();
}

void TaskQueue::complete(std::function<void()> completion) {
  if (ended_by_task != nullptr) {
    ended_by_task->completions.push_back(std::move(completion));
  } else {
    completion();
  }
}

void TaskQueue::call_later(std::function<void()> hook) {
  if (ended_by_task != nullptr) {
    ended_by_task->hooks.push_back(std::move(hook));
  } else {
    hook();
  }
}

/// Makes one completion of all hooks, unless tasks are waiting that should not wait for another thread each
/// time. REQUIRES: mutex_ is held.
void TaskQueue::gather_hooks() {
  if (hooks_.empty() || (queue_.size() > 0 && hooks_.size() < kMostHooks)) return;
  completions_.emplace_back([hooks = std::exchange(hooks_, {})] {
    for (const auto& hook : hooks) hook();
  });
}

/// Makes a thread lead if none does and there is something to do. REQUIRES: mutex_ is held.
void TaskQueue::call_for_leader() {
  if (led_ || (queue_.empty() && completions_.empty() && hooks_.empty())) return;
  if (standing_by_ > called_) {
    ++called_;
    stand_by_.notify_one();
  } else {
    threads_.emplace_back([self = shared_from_this()] { self->work(); });
  }
  led_ = true;
}

void TaskQueue::carry_out_first(std::unique_lock<std::mutex>& lock) {
  const TaskPtr task = std::move(queue_.front());
  queue_.pop_front();
  ++taken_;
  busy_ = true;
  lock.unlock();
  Ended ended;
  {
    const During here(ended_by_task, &ended);
    task->run();
  }
  lock.lock();
  busy_ = false;
  std::move(ended.completions.begin(), ended.completions.end(), std::back_inserter(completions_));
  std::move(ended.hooks.begin(), ended.hooks.end(), std::back_inserter(hooks_));
  if (draining_) idle_.notify_all();
}

bool TaskQueue::complete_first(std::unique_lock<std::mutex>& lock) {
  auto completion = std::move(completions_.front());
  completions_.pop_front();
  led_ = false;
  ++completing_;
  try {
    call_for_leader();
  } catch (const std::system_error&) {  // no further thread can be had: this one leads again afterwards
  }
  lock.unlock();
  {
    const During here(completing_for, const_cast<const TaskQueue*>(this));
    completion();
    completion = nullptr;
  }
  lock.lock();
  --completing_;
  if (draining_) idle_.notify_all();
  if (!led_) return led_ = true;
  ++standing_by_;
  stand_by_.wait(lock, [this] { return called_ > 0 || closing_; });
  --standing_by_;
  if (called_ == 0) return false;
  --called_;
  return true;
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
  call_for_leader();
  const bool hooks_wait = asleep_ && !hooks_.empty();
  if (!busy_ && (!queue_.empty() || !completions_.empty() || hooks_wait || closing_)) wake_.notify_one();
}

bool TaskQueue::run_if_free(c10::function_ref<void()> body) {
  std::unique_lock lock(mutex_);
  if (busy_ || closing_ || !queue_.empty()) return false;
  busy_ = at_once_ = true;
  ++taken_;
  lock.unlock();
  std::exception_ptr error;
  try {
    body();
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  busy_ = at_once_ = false;
  if (draining_ || closing_) idle_.notify_all();
  if (!queue_.empty() || closing_) wake_.notify_one();
  lock.unlock();
  if (error) std::rethrow_exception(error);
  return true;
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
  const int own = completing_for == this ? 1 : 0;
  return idle_.wait_for(lock, longest, [&] {
    return queue_.empty() && completions_.empty() && hooks_.empty() && !busy_ && completing_ <= own;
  });
}

void TaskQueue::close() {
  std::unique_lock lock(mutex_);
  closing_ = true;
  wake_.notify_all();
  stand_by_.notify_all();
  idle_.wait(lock, [this] { return !at_once_; });
  while (!threads_.empty()) {  // a callback that still runs may let further ones start
    std::thread thread = std::move(threads_.back());
    threads_.pop_back();
    lock.unlock();
    if (thread.get_id() == std::this_thread::get_id()) {
      thread.detach();
    } else {
      thread.join();
    }
    lock.lock();
  }
}

void TaskQueue::work() {
  std::unique_lock lock(mutex_);
  uint64_t seen = UINT64_MAX;  // value of taken_ when a task was last in the queue
  auto last = Clock::now();
  for (;;) {
    if (!hooks_.empty()) last = Clock::now();
    gather_hooks();
    if (!completions_.empty()) {
      if (!complete_first(lock)) return;
      seen = UINT64_MAX;
      continue;
    }
    if (busy_) {
      seen = UINT64_MAX;
      wake_.wait_for(lock, kAlert);  // the thread that runs a task continues, or wakes this one
      continue;
    }
    if (queue_.empty()) {
      urged_ = false;
      if (closing_) {
        led_ = false;
        return;
      }
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
