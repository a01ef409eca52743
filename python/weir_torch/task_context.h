// SPDX-License-Identifier: Apache-2.0
/// What the tasks of a group have in common: how long they may take, and who is told of them (PyTorch's
/// profiler, hooks).
///
/// Thread-safe. Hooks are called without a lock of the group's, after the task has ended for those who wait
/// for it: PyTorch's own hook writes flight records for seconds.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "python/weir_torch/base.h"

namespace weir_torch {

class TaskContext {
 public:
  using AbortHook = std::function<void()>;
  /// Is given the task's key, and how long it took in milliseconds, if tasks are timed.
  using CompletionHook = std::function<void(uint64_t key, std::optional<float> took)>;

  /// `title`: with which the names of its events for the profiler begin.
  TaskContext(std::string title, Milliseconds timeout) : title_(std::move(title)), timeout_(timeout) {}

  /// Name of an operation's event for the profiler, like those of PyTorch's own back ends.
  std::string event_of(c10d::OpType type, const std::string& what) const;

  Milliseconds timeout() const { return timeout_.load(); }
  void set_timeout(Milliseconds timeout) { timeout_ = timeout; }
  /// Adds to the timeouts of later tasks, until the first of them has ended.
  void extend_timeout(Milliseconds by);
  /// The timeout of the next task; `asked`: its own, negative: none.
  Milliseconds timeout_of_next(Milliseconds asked) const;

  void time_tasks() { timed_ = true; }
  bool are_timed() const { return timed_.load(std::memory_order_relaxed); }

  void add_abort_hook(int64_t id, AbortHook hook);
  void remove_abort_hook(int64_t id);
  void add_completion_hook(int64_t id, CompletionHook hook);
  void remove_completion_hook(int64_t id);

  /// Whether anybody has to learn of tasks, or of the next ones.
  bool follows_tasks() const { return are_timed() || watched_.load(std::memory_order_relaxed); }

  /// A key for a new task, which no other task of the process has.
  uint64_t begun();
  /// A task has ended. Returns what calls the completion hooks, after an error the abort hooks; null: there
  /// are none.
  std::function<void()> ended(uint64_t key, bool right, std::optional<float> took);
  /// The user aborts the group: errors from now on are what was asked for, and no reason to call abort hooks.
  void aborted_by_user() { aborted_by_user_ = true; }

 private:
  struct Extension {
    Milliseconds by;
    uint64_t first = 0;  ///< key of the first task with it; 0: there was none yet
  };

  const std::string title_;
  std::atomic<Milliseconds> timeout_;
  std::atomic<bool> timed_{false};
  std::atomic<bool> aborted_by_user_{false};
  std::atomic<bool> watched_{false};  ///< there may be hooks or extensions
  mutable std::mutex mutex_;
  std::vector<Extension> extensions_;
  std::map<int64_t, AbortHook> abort_hooks_;
  std::map<int64_t, CompletionHook> completion_hooks_;
};
using TaskContextPtr = std::shared_ptr<TaskContext>;

}  // namespace weir_torch
