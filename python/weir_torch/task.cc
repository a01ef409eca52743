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

/// The name of its event for PyTorch's profiler, like those of PyTorch's own back ends.
std::string event_of(c10d::OpType type, const std::string& what) {
  switch (type) {
    case c10d::OpType::SEND: return "weir:send";
    case c10d::OpType::RECV: return "weir:recv";
    case c10d::OpType::RECVANYSOURCE: return "weir:recvAnySource";
    default: return "weir:" + what;
  }
}

}  // namespace

std::optional<Tensors> profiled(const Tensors& inputs) {
  return at::hasCallbacks() ? std::optional(inputs) : std::nullopt;
}

Task::Task(std::shared_ptr<TaskQueue> queue, c10d::OpType type, std::string what, Tensors outputs,
           Milliseconds timeout, std::function<void()> body, GpuPassagePtr passage,
           std::optional<Tensors> inputs)
    : c10d::Work(-1, type, inputs ? event_of(type, what).c_str() : nullptr, inputs ? *inputs : Tensors{}),
      queue_(std::move(queue)),
      what_(std::move(what)),
      outputs_(std::move(outputs)),
      timeout_(timeout),
      passage_(std::move(passage)),
      body_(std::move(body)) {}

void Task::run() {
  if (done()) return;
  std::exception_ptr error;
  try {
    const at::NoGradGuard plain;
    body_();
  } catch (...) {
    error = std::current_exception();
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
  if (future) TaskQueue::complete(completion_of(std::move(future)));
}

/// What completes the future of a task that is done. It may outlive the task.
std::function<void()> Task::completion_of(c10::intrusive_ptr<c10::ivalue::Future> future) const {
  return [future = std::move(future), error = error_, outputs = outputs_, passage = passage_] {
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
  if (!done()) refuse(what_ + " is not done yet");
  return outputs_;
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
    const Milliseconds longest = timeout.count() > 0 || queue_ != nullptr ? timeout : timeout_;
    if (!await(longest)) refuse(what_ + " was not done within " + seconds(longest));
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
  if (passage_ != nullptr && done()) passage_->follow();
}

c10::intrusive_ptr<c10::ivalue::Future> Task::getFuture() {
  c10::intrusive_ptr<c10::ivalue::Future> future;
  bool late = false;
  {
    std::lock_guard lock(state_mutex_);
    if (future_) return future_;
    std::vector<c10::Device> devices;
    if (passage_ != nullptr) devices.push_back(passage_->queue().device());
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
