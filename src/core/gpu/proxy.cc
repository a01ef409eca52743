// SPDX-License-Identifier: Apache-2.0

#include "src/core/gpu/proxy.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/base/clock.h"
#include "src/base/contention.h"
#include "src/base/service_thread.h"

namespace weir::core {
namespace {

/// How long it keeps polling without progress: while calls are in flight; and while none is, but graphs may
/// run.
constexpr int64_t kEagerNs = 10'000'000;
constexpr int64_t kEagerForGraphsNs = 1'000'000;
constexpr std::chrono::microseconds kNap{50};
/// Time for the messages that kernels have sent to reach the peer at the end.
constexpr int64_t kDrainNs = 2'000'000'000;

}  // namespace

Proxy::Proxy(Dependencies dependencies) : dependencies_(std::move(dependencies)) {}

Status Proxy::start() {
  auto thread = start_thread(
      "weir proxy", [this] { work(); },
      [this](const Status& why) {
        const std::lock_guard lock(mutex_);
        trouble_ = Trouble{-1, why};
      });
  WEIR_TRY(thread.status());
  thread_ = std::move(*thread);
  return {};
}

Proxy::~Proxy() {
  if (!thread_.joinable()) return;
  stop_.store(true);
  wake();
  thread_.join();
}

void Proxy::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  changed_.notify_one();
}

void Proxy::expect_graphs() {
  const std::lock_guard lock(mutex_);
  woken_ = graphs_ = true;
  changed_.notify_one();
}

std::optional<Proxy::Trouble> Proxy::trouble(Rank waited_for) const {
  const std::lock_guard lock(mutex_);
  if (trouble_) return trouble_;
  for (const Trouble& one : closed_)
    if (one.peer == waited_for) return one;
  return std::nullopt;
}

void Proxy::work() {
  int64_t moved_ns = now_ns();
  int64_t stop_ns = 0;
  for (;;) {
    const int64_t now = now_ns();
    if (carry_all() || rest(now - moved_ns)) moved_ns = now_ns();
    if (!stop_.load(std::memory_order_relaxed)) continue;
    if (stop_ns == 0) stop_ns = now;
    if (trouble() || dependencies_.aborted->load(std::memory_order_relaxed) || drained()) return;
    if (now - stop_ns > kDrainNs) return;
  }
}

/// Serves all ends; true if any message moved.
bool Proxy::carry_all() {
  if (dependencies_.aborted->load(std::memory_order_relaxed) || trouble()) return false;
  for (const exec::gpu::ProxyRings::End& end : dependencies_.rings->newly_wanted()) {
    auto opened = ProxiedEnd::open(dependencies_.self, *dependencies_.gpu, *dependencies_.rings, end,
                                   *dependencies_.routes);
    if (!opened.ok()) {
      const std::lock_guard lock(mutex_);
      trouble_ = Trouble{end.peer, opened.status()};
      return false;
    }
    ends_.push_back(std::move(*opened));
  }
  bool moved = false;
  for (size_t i = ends_.size(); i-- > 0;) {
    const Result<bool> carried = ends_[i]->carry();
    if (!carried.ok()) give_up(i, carried.status());
    moved |= carried.ok() && *carried;
  }
  return moved;
}

bool Proxy::drained() const {
  return std::all_of(ends_.begin(), ends_.end(), [](const auto& end) { return end->drained(); });
}

/// Pauses after a poll without progress, `idle_ns` after the last progress. True if there may be new work.
bool Proxy::rest(int64_t idle_ns) {
  const bool busy = dependencies_.busy() || !drained();
  std::unique_lock lock(mutex_);
  const bool over = trouble_.has_value() || dependencies_.aborted->load(std::memory_order_relaxed);
  const auto woken = [this] { return woken_; };
  const bool stopping = stop_.load(std::memory_order_relaxed);
  if (stopping || (!over && idle_ns < (busy ? kEagerNs : kEagerForGraphsNs))) {
    lock.unlock();
    if (try_yield_core()) return false;
    lock.lock();
  }
  if (!stopping && (over || (!busy && !graphs_))) {
    changed_.wait(lock, woken);
  } else {
    changed_.wait_for(lock, kNap, woken);
  }
  return std::exchange(woken_, false);
}

void Proxy::give_up(size_t end, const Status& why) {
  const std::lock_guard lock(mutex_);
  const Trouble trouble{ends_[end]->peer(), why};
  if (ends_[end]->awaits_peer()) {
    closed_.push_back(trouble);
  } else if (!trouble_) {
    trouble_ = trouble;
  }
  ends_.erase(ends_.begin() + static_cast<std::ptrdiff_t>(end));
}

}  // namespace weir::core
