// SPDX-License-Identifier: Apache-2.0
// Communicators that give back what they hold for a while.
#include <fmt/format.h>

#include "src/base/log.h"
#include "src/base/text.h"
#include "src/core/communicator/communicator.h"
#include "src/core/communicator/resources.h"
#include "src/core/gpu/device_collectives.h"
#include "src/device/host_stream.h"

namespace weir::core {

Status Communicator::suspend() {
  WEIR_TRY(usable());
  if (revoked()) return {Code::invalid_usage, "the communicator was revoked; expected ncclCommDestroy"};
  if (resources_->gpus_somewhere)
    return {
        Code::invalid_usage,
        "ncclCommSuspend does not support communicators in which a rank uses a GPU, whose graphs may hold "
        "the memory; destroy the communicator and create it again later"};
  return run_step_in_order(&Communicator::suspend_now, "the communicator is being suspended");
}

Status Communicator::resume() {
  if (const Status now = state(); !now.ok()) return now;
  if (!suspended()) return {Code::invalid_usage, "ncclCommResume : the communicator is not suspended"};
  return run_step_in_order(&Communicator::resume_now, "the communicator is being resumed");
}

Status Communicator::run_step_in_order(Status (Communicator::*step)(), const char* doing) {
  if (config_.blocking) return (this->*step)();
  const Status under_way(Code::in_progress, doing);
  auto thread = background();
  WEIR_TRY(thread.status());
  set_state(under_way);
  (*thread)->submit([this, step] {
    Status status = (this->*step)();
    set_state(status);
    return status;
  });
  return under_way;
}

Status Communicator::suspend_now() {
  suspending_.store(true);  // what is under way can be aborted
  wait_idle();
  // Nobody's memory goes while somebody is not done with it.
  if (Status met = resources_->bootstrap->barrier(); !met.ok()) {
    set_state(met);
    suspending_.store(false);
    return met;
  }
  const uint64_t bytes = resources_->segment->used_bytes();
  std::unique_ptr<Resources> left;
  {
    std::lock_guard lock(mutex_);
    left = std::move(resources_);
    resting_ = std::move(left->bootstrap);
    resting_->activity().set_stage(Activity::Stage::suspended);
    resting_listener_ = left->listener;
    suspended_bytes_ = bytes;
    suspended_.store(true);
    suspending_.store(false);
    code_.store(static_cast<int>(Code::invalid_usage), std::memory_order_release);
  }
  left.reset();
  WEIR_INFO(init, "rank {} is suspended and has released {}", rank_, bytes_words(static_cast<double>(bytes)));
  return {};
}

/// Under a name of its own, so that nothing of now meets anything of before.
Status Communicator::resume_now() {
  std::vector<Rank> everybody;
  for (Rank rank = 0; rank < ranks_; ++rank) everybody.push_back(rank);
  const uint64_t before = resting_->uid();
  const uint64_t uid = uid_in_job(static_cast<uint32_t>(before >> 32),
                                  hash_text(fmt::format("{:x} resumed {}", before, ++resumed_)));
  auto fresh = Bootstrap::subset(*resting_, everybody, uid, &aborted_);
  WEIR_TRY(fresh.status());
  (*fresh)->watchdog().set_stuck_ms(resting_->watchdog().stuck_ms());
  auto resources = Resources::build(runtime_, resting_listener_, std::move(*fresh), config_, gpu_);
  if (!resources.ok()) {
    set_state(resources.status());
    return resources.status();
  }
  (*resources)->register_windows(runtime_.windows(), windows_);
  std::unique_ptr<Bootstrap> left;
  {
    std::lock_guard lock(mutex_);
    resources_ = std::move(*resources);
    left = std::move(resting_);
    resting_listener_.reset();
    suspended_bytes_ = 0;
    suspended_.store(false);
    if (state_.ok()) code_.store(static_cast<int>(Code::success), std::memory_order_release);
  }
  if (aborted_.load()) resources_->execution->abort();
  return {};
}

uint64_t Communicator::memory_bytes() const {
  std::lock_guard lock(mutex_);
  if (resources_ == nullptr || state_.code() == Code::in_progress) return suspended_bytes_;
  const uint64_t on_gpu = device_collectives_ != nullptr ? device_collectives_->gpu_bytes() : 0;
  return resources_->segment->used_bytes() + on_gpu;
}

}  // namespace weir::core
