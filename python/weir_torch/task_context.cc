// SPDX-License-Identifier: Apache-2.0

#include "python/weir_torch/task_context.h"

#include <string_view>

namespace weir_torch {
namespace {

constexpr std::string_view kCoalesced = "_coalesced";

}  // namespace

std::string TaskContext::event_of(c10d::OpType type, const std::string& what) const {
  switch (type) {
    case c10d::OpType::SEND: return title_ + ":send";
    case c10d::OpType::RECV: return title_ + ":recv";
    case c10d::OpType::RECVANYSOURCE: return title_ + ":recvAnySource";
    default: break;
  }
  // Gloo's events have no names of their own for coalesced collectives.
  const bool shorter = title_ == "gloo" && what.ends_with(kCoalesced);
  return title_ + ":" + what.substr(0, what.size() - (shorter ? kCoalesced.size() : 0));
}

void TaskContext::extend_timeout(Milliseconds by) {
  const std::lock_guard lock(mutex_);
  extensions_.push_back({by});
  watched_ = true;
}

Milliseconds TaskContext::timeout_of_next(Milliseconds asked) const {
  Milliseconds longest = asked.count() < 0 ? timeout() : asked;
  if (!watched_.load(std::memory_order_relaxed) || longest.count() == 0) return longest;  // 0: no limit
  const std::lock_guard lock(mutex_);
  for (const Extension& extension : extensions_) longest += extension.by;
  return longest;
}

void TaskContext::add_abort_hook(int64_t id, AbortHook hook) {
  const std::lock_guard lock(mutex_);
  abort_hooks_[id] = std::move(hook);
  watched_ = true;
}

void TaskContext::remove_abort_hook(int64_t id) {
  const std::lock_guard lock(mutex_);
  abort_hooks_.erase(id);
}

void TaskContext::add_completion_hook(int64_t id, CompletionHook hook) {
  const std::lock_guard lock(mutex_);
  completion_hooks_[id] = std::move(hook);
  watched_ = true;
}

void TaskContext::remove_completion_hook(int64_t id) {
  const std::lock_guard lock(mutex_);
  completion_hooks_.erase(id);
}

uint64_t TaskContext::begun() {
  static std::atomic<uint64_t> last{0};
  const uint64_t key = ++last;
  if (watched_.load(std::memory_order_relaxed)) {
    const std::lock_guard lock(mutex_);
    for (Extension& extension : extensions_) {
      if (extension.first == 0) extension.first = key;
    }
  }
  return key;
}

std::function<void()> TaskContext::ended(uint64_t key, bool right, std::optional<float> took) {
  if (!watched_.load(std::memory_order_relaxed)) return nullptr;
  const std::lock_guard lock(mutex_);
  std::erase_if(extensions_, [&](const Extension& extension) { return extension.first == key; });
  if (right && !completion_hooks_.empty()) {
    return [hooks = completion_hooks_, key, took] {
      for (const auto& [id, hook] : hooks) hook(key, took);
    };
  }
  if (right || aborted_by_user_ || abort_hooks_.empty()) return nullptr;
  return [hooks = abort_hooks_] {
    for (const auto& [id, hook] : hooks) hook();
  };
}

}  // namespace weir_torch
