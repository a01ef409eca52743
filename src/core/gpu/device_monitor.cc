// SPDX-License-Identifier: Apache-2.0

#include "src/core/gpu/device_monitor.h"

#include <fmt/format.h>

#include "src/base/clock.h"
#include "src/base/service_thread.h"
#include "src/core/gpu/device_pairs.h"
#include "src/exec/gpu/pairs_launch.h"

namespace weir::core {
namespace {

/// Time between two checks while calls are in flight, and while graphs may run calls.
constexpr std::chrono::milliseconds kPeriod{20};
constexpr std::chrono::milliseconds kPeriodOfGraphs{50};
/// A wait that was not reported for this long is over: waiting kernels report it much more often.
constexpr int64_t kSilentNs = 1'000'000'000;

}  // namespace

DeviceMonitor::DeviceMonitor(Dependencies dependencies) : dependencies_(std::move(dependencies)) {}

Status DeviceMonitor::start() {
  auto thread = start_thread(
      "weir monitor", [this] { work(); }, [this](const Status& why) { fail(why); });
  WEIR_TRY(thread.status());
  thread_ = std::move(*thread);
  return {};
}

DeviceMonitor::~DeviceMonitor() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void DeviceMonitor::add(const Entry& entry) {
  const std::lock_guard lock(mutex_);
  added_.push_back(entry);
  if (added_.size() == 1) changed_.notify_one();
}

void DeviceMonitor::add_graph() {
  const std::lock_guard lock(mutex_);
  graphs_ = true;
  changed_.notify_one();
}

void DeviceMonitor::work() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (under_way_.empty() && added_.empty() && !graphs_) {
      changed_.wait(lock);
      continue;
    }
    under_way_.insert(under_way_.end(), added_.begin(), added_.end());
    added_.clear();
    const auto period = under_way_.empty() ? kPeriodOfGraphs : kPeriod;
    lock.unlock();
    look();
    lock.lock();
    if (!stop_) changed_.wait_for(lock, period, [&] { return stop_; });
  }
}

void DeviceMonitor::look() {
  follow_calls();
  if (failed_) return;
  Activity& own = dependencies_.bootstrap->activity();
  if (dependencies_.aborted->load(std::memory_order_relaxed))
    return fail(
        {Code::invalid_usage,
         "the communicator was aborted (by ncclCommAbort, or by ncclCommShrink with NCCL_SHRINK_ABORT)"});
  if (own.failed()) return fail(own.status());
  const exec::gpu::Look seen = dependencies_.executor->look();
  if (const auto trouble =
          dependencies_.proxy != nullptr ? dependencies_.proxy->trouble(seen.waiting_for) : std::nullopt)
    return fail(trouble->peer < 0
                    ? trouble->status
                    : dependencies_.bootstrap->watchdog().explain(trouble->peer, trouble->status));
  if (seen.foreign < 0 && seen.left >= 0)
    return fail(dependencies_.bootstrap->watchdog().explain(
        seen.left, {Code::remote_error, fmt::format("rank {} has stopped after an error", seen.left)}));
  if (seen.foreign < 0) return follow_wait(seen);
  fail(dependencies_.bootstrap->watchdog().explain(seen.foreign, mismatch(seen)));
}

Status DeviceMonitor::mismatch(const exec::gpu::Look& seen) const {
  const Rank own = dependencies_.bootstrap->rank();
  constexpr uint64_t kPair = exec::gpu::kPairTag;
  if ((seen.foreign_tag & seen.expected & kPair) != 0)
    return {Code::invalid_usage,
            fmt::format("rank {}'s send of {} bytes to rank {} differs in size from the matching receive of "
                        "{} bytes on rank {}",
                        seen.foreign, seen.foreign_tag & ~kPair, own, seen.expected & ~kPair, own)};
  return {Code::invalid_usage,
          fmt::format("rank {} sent a message of {} where rank {} expected another one: the ranks "
                      "called different operations, or the same ones in another order",
                      seen.foreign, words_of_tag(seen.foreign_tag), own)};
}

/// Updates the activity to the call that the GPU is running.
void DeviceMonitor::follow_calls() {
  Activity& own = dependencies_.bootstrap->activity();
  const uint32_t done = dependencies_.done.host->load(std::memory_order_acquire);
  while (!under_way_.empty()) {
    const Entry& entry = under_way_.front();
    if (!begun_) {
      own.begin(entry.record.sequence, entry.record.signature, entry.record.operation);
      begun_ = true;
    }
    if (static_cast<int32_t>(done - entry.call) < 0) return;
    own.end();
    under_way_.pop_front();
    begun_ = false;
    peer_ = -1;
  }
}

/// Lets the watchdog examine the peer that a kernel waits for.
void DeviceMonitor::follow_wait(const exec::gpu::Look& seen) {
  const int64_t now = now_ns();
  if (seen.waiting_for >= 0 && (peer_ < 0 || seen.waiting_for == peer_)) {
    if (peer_ < 0) since_ns_ = now;
    peer_ = seen.waiting_for;
    seen_ns_ = now;
  } else if (peer_ >= 0 && now - seen_ns_ > kSilentNs) {  // its message arrived; now perhaps another peer
    peer_ = seen.waiting_for;
    since_ns_ = seen_ns_ = now;
  }
  if (peer_ < 0) return;
  if (const Status trouble = dependencies_.bootstrap->watchdog().examine(peer_, now - since_ns_);
      !trouble.ok())
    fail(trouble);
}

void DeviceMonitor::fail(const Status& status) {
  failed_ = true;
  dependencies_.executor->abort();
  dependencies_.fail(status);
}

}  // namespace weir::core
