// SPDX-License-Identifier: Apache-2.0
/// A queue of tasks that are executed in order, each by the first thread that is free: a thread that waits
/// for the task, or the queue's own thread.
///
/// A program that calls and then waits does not need a second thread: the waiting thread executes the queued
/// tasks up to its own. If no thread waits for a task, the queue's thread takes it: usually within a quarter
/// of a millisecond, within two where waiting threads have taken the last tasks, at once after urge(). That
/// thread starts with the first task. Each task wakes it, unless waiting threads take all of them: then it
/// polls, for a short time after the last one.
///
/// Futures are completed by the queue's threads, outside of tasks, because a callback of a future may wait
/// for anything, also for a later task: the thread that completes one leaves the queue to another thread,
/// which is started if none stands by. One thread at a time leads: it takes what is in the queue.
#pragma once

#include <c10/util/FunctionRef.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "python/weir_torch/base.h"

namespace weir_torch {

class Task;
using TaskPtr = c10::intrusive_ptr<Task>;

/// Time for tasks that nobody waits for to finish when their group is destroyed.
inline constexpr Milliseconds kLastCall{10'000};

/// Any thread may call all functions, except close(). Owned by a shared_ptr, as its threads use it until
/// close(); a queue that is not closed lives as long as the process.
class TaskQueue : public std::enable_shared_from_this<TaskQueue> {
 public:
  /// Whether a thread that waits for a task may execute earlier tasks; if not, it waits for them, because an
  /// abort of its own task may not end the earlier ones.
  enum class Help { any, own };
  /// What is to be called, with no task on the thread, after a task has ended.
  struct Ended {
    std::vector<std::function<void()>> completions;  ///< of futures
    std::vector<std::function<void()>> hooks;
  };

  explicit TaskQueue(Help help = Help::any) : help_(help) {}
  TaskQueue(const TaskQueue&) = delete;
  TaskQueue& operator=(const TaskQueue&) = delete;

  void submit(TaskPtr task);
  /// Executes tasks in order, until this one is done or another thread executes the tasks before it.
  void help(const Task& task);
  /// Calls `body` as a task of its own, if no other task is queued or executed; returns whether it did.
  /// Passes on what `body` throws. Costs less than a task, and no thread is woken.
  bool run_if_free(c10::function_ref<void()> body);
  /// Lets the queue's thread take the tasks in the queue without delay.
  void urge();
  /// Calls `completion`, which completes a future, when no task runs on this thread any more; at once if none
  /// does.
  static void complete(std::function<void()> completion);
  /// Calls `hook` soon (within some 20 ms), in the order of the tasks, on a thread on which no task
  /// runs; at once if none runs on this one. Costs less than complete(): no thread is woken for each task.
  static void call_later(std::function<void()> hook);
  /// Returns whether all submitted tasks were done, with their futures, within this time. A callback of a
  /// future that calls it is not waited for.
  bool drain(Milliseconds longest);
  /// Ends the threads after all submitted tasks are done. One thread calls it, once; it may be one of the
  /// queue's.
  void close();

 private:
  void work();
  void call_for_leader();
  void gather_hooks();
  /// Completes the first future, and returns when this thread leads again; false: it has to end.
  bool complete_first(std::unique_lock<std::mutex>& lock);
  /// Takes and executes the first task, with the lock released meanwhile. REQUIRES: not busy_, and the queue
  /// is not empty.
  void carry_out_first(std::unique_lock<std::mutex>& lock);

  const Help help_;
  std::mutex mutex_;
  std::condition_variable wake_;      ///< wakes the thread that leads
  std::condition_variable stand_by_;  ///< wakes a thread that stands by
  std::condition_variable idle_;      ///< wakes drain()
  std::deque<TaskPtr> queue_;
  std::deque<std::function<void()>> completions_;  ///< of futures of tasks that are done
  std::vector<std::function<void()>> hooks_;       ///< of tasks that are done
  std::vector<std::thread> threads_;
  bool led_ = false;       ///< a thread leads, or is called to
  int called_ = 0;         ///< threads that stand by and have been called to lead
  int standing_by_ = 0;    ///< threads that stand by
  int completing_ = 0;     ///< threads that complete a future
  uint64_t taken_ = 0;     ///< number of tasks taken
  int eager_ = 0;          ///< tasks that waiting threads must take before the thread polls
  bool busy_ = false;      ///< a thread executes a task
  bool at_once_ = false;   ///< it does so in run_if_free()
  bool urged_ = false;     ///< urge() was called, and the queue has not been empty since
  bool asleep_ = false;    ///< the leading thread sleeps until it is notified
  bool draining_ = false;  ///< a thread waits in drain()
  bool closing_ = false;
};

}  // namespace weir_torch
