// SPDX-License-Identifier: Apache-2.0

#include "python/weir_torch/task.h"

#include <ATen/core/ivalue_inl.h>
#include <ATen/core/jit_type.h>
#include <ATen/record_function.h>
#include <c10/core/StreamGuard.h>
#include <sched.h>

#include <utility>

#include "python/weir_torch/words.h"

namespace weir_torch {
namespace {

/// Time that a waiting thread polls before it sleeps.
constexpr std::chrono::microseconds kSpin{50};
/// A yield that takes longer was a time slice of somebody who computes on this core (docs/waiting.md). For
/// some time after it, the thread sleeps at once.
constexpr Milliseconds kSlice{1}, kBesideLoad{100};
thread_local Clock::time_point beside_load_until;

/// Whether a profiler of PyTorch is at work, and the task is one of its user's.
bool is_profiled(const TaskContextPtr& context) { return context != nullptr && at::hasCallbacks(); }

}  // namespace

Task::Task(std::shared_ptr<TaskQueue> queue, TaskContextPtr context, TaskFacts facts,
           std::function<void()> body)
    : c10d::Work(-1, facts.type,
                 is_profiled(context) ? context->event_of(facts.type, facts.what).c_str() : nullptr,
                 is_profiled(context) ? facts.inputs : Tensors{}),
      queue_(std::move(queue)),
      context_(std::move(context)),
      key_(context_ ? context_->begun() : 0),
      facts_(std::move(facts)),
      body_(std::move(body)) {
  facts_.inputs.clear();
}

void Task::run() {
  if (done()) return;
  std::exception_ptr error;
  const bool timed = context_ != nullptr && context_->are_timed();
  const auto start = timed ? Clock::now() : Clock::time_point();
  try {
    const at::NoGradGuard plain;
    body_();
  } catch (...) {
    error = std::current_exception();
  }
  if (timed) {
    const std::lock_guard lock(state_mutex_);
    took_ = std::chrono::duration<float, std::milli>(Clock::now() - start).count();
  }
  finish(error);
  body_ = nullptr;
}

void Task::finish(std::exception_ptr error) {
  c10::intrusive_ptr<c10::ivalue::Future> future;
  {
    std::lock_guard lock(state_mutex_);
    if (done()) return;
    error_ = std::move(error);
    if (recordFunctionEndCallback_) std::exchange(recordFunctionEndCallback_, nullptr)();
    done_.store(true, std::memory_order_release);
    if (waiters_ > 0) finished_.notify_all();
    future = future_;
  }
  std::function<void()> hooks = context_ ? context_->ended(key_, !failed(), took()) : nullptr;
  if (hooks) TaskQueue::call_later(std::move(hooks));
  if (future) TaskQueue::complete(completion_of(std::move(future)));
}

std::optional<float> Task::took() const {
  const std::lock_guard lock(state_mutex_);
  return took_;
}

float Task::getDuration() const {
  const auto duration = took();
  if (!duration) refuse(facts_.what + " was not timed; expected _enable_collectives_timing() before it");
  return *duration;
}

/// What completes the future of a task that is done. It may outlive the task.
std::function<void()> Task::completion_of(c10::intrusive_ptr<c10::ivalue::Future> future) const {
  return [future = std::move(future), error = error_, outputs = facts_.outputs, passage = facts_.passage] {
    if (error) {
      future->setError(error);
    } else if (passage == nullptr) {
      future->markCompleted(c10::IValue(outputs));
    } else {  // a user of the future waits for the work of the current stream
      const c10::StreamGuard queue(passage->queue().stream());
      future->markCompleted(c10::IValue(outputs));
    }
  };
}

bool Task::isSuccess() const {
  std::lock_guard lock(state_mutex_);
  return done() && !error_;
}

std::exception_ptr Task::exception() const {
  std::lock_guard lock(state_mutex_);
  return error_;
}

Tensors Task::result() {
  if (!done()) refuse(facts_.what + " is not done yet");
  return facts_.outputs;
}

bool Task::await(Milliseconds timeout) {
  const auto start = Clock::now();
  for (auto now = start; now - start < kSpin && now >= beside_load_until;) {
    if (done()) return true;
    sched_yield();
    const auto after = Clock::now();
    if (after - now > kSlice) beside_load_until = after + kBesideLoad;
    now = after;
  }
  std::unique_lock lock(state_mutex_);
  ++waiters_;
  const auto is_done = [this] { return done(); };
  bool in_time = true;
  if (timeout.count() > 0) {
    in_time = finished_.wait_until(lock, start + timeout, is_done);
  } else {
    finished_.wait(lock, is_done);
  }
  --waiters_;
  return in_time;
}

bool Task::wait(Milliseconds timeout) {
  if (!done() && queue_ != nullptr) {
    if (timeout.count() > 0) {
      queue_->urge();
    } else {
      queue_->help(*this);
    }
  }
  if (!done()) {
    const Milliseconds longest = timeout.count() > 0 || queue_ != nullptr ? timeout : facts_.timeout;
    if (!await(longest)) refuse(facts_.what + " was not done within the timeout of " + seconds(longest));
  }
  std::exception_ptr error;
  {
    std::lock_guard lock(state_mutex_);
    error = error_;
  }
  if (error) std::rethrow_exception(error);
  synchronize();
  return true;
}

void Task::synchronize() {
  if (facts_.passage != nullptr && done()) facts_.passage->follow();
}

c10::intrusive_ptr<c10::ivalue::Future> Task::getFuture() {
  c10::intrusive_ptr<c10::ivalue::Future> future;
  bool late = false;
  {
    std::lock_guard lock(state_mutex_);
    if (future_) return future_;
    std::vector<c10::Device> devices;
    if (facts_.passage != nullptr) devices.push_back(facts_.passage->queue().device());
    future_ =
        c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()), devices);
    future = future_;
    late = done();
  }
  if (late) {
    completion_of(future)();  // nobody has added a callback yet
  } else if (queue_ != nullptr) {
    queue_->urge();
  }
  return future;
}

}  // namespace weir_torch
