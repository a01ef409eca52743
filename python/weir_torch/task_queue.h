// SPDX-License-Identifier: Apache-2.0
/// A queue of tasks that are carried out one after another, each by whoever comes first: a thread that waits
/// for the task, or the queue's own thread.
///
/// A program that calls and waits pays for no other thread: the waiting thread carries out what is queued up
/// to its own task. Where nobody waits, the queue's thread takes a task within half a millisecond, or at once
/// when it is urged to. The thread starts with the first task and looks often only for a while after the last
/// one.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "python/weir_torch/base.h"

namespace weir_torch {

class Task;
using TaskPtr = c10::intrusive_ptr<Task>;

/// What was submitted but not waited for has so long when its group goes.
inline constexpr Milliseconds kLastCall{10'000};

/// All functions may be called from any thread, but for close().
class TaskQueue {
 public:
  /// Whether a thread that waits for a task may carry out those before it; else it waits for them, because
  /// what ends its own may not end those.
  enum class Help { any, own };

  explicit TaskQueue(Help help = Help::any) : help_(help) {}
  /// REQUIRES: close() was called, or nothing was ever submitted.
  ~TaskQueue();
  TaskQueue(const TaskQueue&) = delete;
  TaskQueue& operator=(const TaskQueue&) = delete;

  void submit(TaskPtr task);
  /// Carries out tasks, in order, until this one is done or another thread carries out what is before it.
  void help(const Task& task);
  /// The queue's thread takes what is queued now, without waiting for somebody who wants it.
  void urge();
  /// Whether everything submitted was done within this time.
  bool drain(Milliseconds longest);
  /// Ends the thread when everything submitted is done. By one thread, once.
  void close();

 private:
  void work();
  /// Takes the first task and carries it out, the lock open meanwhile. REQUIRES: not busy_, and there is one.
  void carry_out_first(std::unique_lock<std::mutex>& lock);

  const Help help_;
  std::mutex mutex_;
  std::condition_variable wake_;  ///< of the thread
  std::condition_variable idle_;  ///< of drain()
  std::deque<TaskPtr> queue_;
  std::thread thread_;
  uint64_t taken_ = 0;     ///< tasks
  bool busy_ = false;      ///< somebody carries out a task
  bool urged_ = false;     ///< until the queue is empty
  bool asleep_ = false;    ///< the thread looks only when it is woken
  bool draining_ = false;  ///< somebody waits in drain()
  bool closing_ = false;
};

}  // namespace weir_torch
