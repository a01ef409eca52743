// SPDX-License-Identifier: Apache-2.0

#include "src/core/call/lifecycle.h"

#include "src/base/error_log.h"
#include "src/base/exception.h"

namespace weir::core {

Status suspended_status() {
  return {Code::invalid_usage,
          "the communicator is suspended (ncclCommSuspend); expected ncclCommResume on all ranks first"};
}

Status Lifecycle::status() const {
  Status now = status_of_phase();
  if (now.ok() && children_.load() != 0)
    return {Code::in_progress, "a communicator that is made of it is being set up"};
  return now;
}

Status Lifecycle::status_of_phase() const {
  std::lock_guard lock(mutex_);
  switch (phase()) {
    case Phase::created: return {Code::invalid_usage, "the communicator was not connected"};
    case Phase::connecting: return {Code::in_progress, "the communicator is being set up"};
    case Phase::suspending: return {Code::in_progress, "the communicator is being suspended"};
    case Phase::resuming: return {Code::in_progress, "the communicator is being resumed"};
    case Phase::ready:
    case Phase::finalizing:
    case Phase::suspended:
    case Phase::revoked: return {};
    case Phase::failed: return error_;
  }
  return error_;
}

Status Lifecycle::usable() const {
  Status now = status_of_phase();
  if (now.code() == Code::in_progress)
    return {Code::invalid_argument,
            "Attempt to use communicator before the previous operation returned ncclSuccess"};
  if (!now.ok()) return now;
  if (phase() == Phase::suspended) return suspended_status();
  std::lock_guard lock(mutex_);
  return error_;  // of one that was revoked
}

void Lifecycle::enter(Phase phase) {
  std::lock_guard lock(mutex_);
  if (error_.ok()) phase_.store(phase, std::memory_order_release);
}

void Lifecycle::fail(const Status& error, bool returned) { end(Phase::failed, error, !returned); }

void Lifecycle::revoke(const Status& error) { end(Phase::revoked, error, false); }

void Lifecycle::end(Phase phase, const Status& error, bool logs) {
  std::unique_lock lock(mutex_);
  if (error_.ok()) {
    error_ = error;
    lock.unlock();
    (void)guarded([&] {
      if (logs) log_error(error.message());
      on_failure_();
      return Status();
    });
    lock.lock();
  }
  // The last touch: whoever sees it may destroy the communicator.
  if (this->phase() != Phase::revoked) phase_.store(phase, std::memory_order_release);
}

}  // namespace weir::core
