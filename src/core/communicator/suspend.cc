// SPDX-License-Identifier: Apache-2.0
// Communicators that give back what they hold for a while.
#include "src/core/communicator/suspend.h"

#include <fmt/format.h>

#include <numeric>

#include "src/base/exception.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/core/communicator/communicator.h"
#include "src/core/communicator/resources.h"
#include "src/core/communicator/set_up_step.h"

namespace weir::core {

using Phase = Lifecycle::Phase;

Status Communicator::suspend() {
  WEIR_TRY(lifecycle_.usable());
  if (resources_->gpus_somewhere)
    return {
        Code::invalid_usage,
        "ncclCommSuspend does not support communicators in which a rank uses a GPU, whose graphs may hold "
        "the memory; destroy the communicator and create it again later"};
  return pass_through(Phase::suspending, &Communicator::suspend_now);
}

Status Communicator::resume() {
  if (const Status now = state(); !now.ok()) return now;
  if (lifecycle_.phase() != Phase::suspended)
    return {Code::invalid_usage, "ncclCommResume : the communicator is not suspended"};
  return pass_through(Phase::resuming, &Communicator::resume_now);
}

Status Communicator::pass_through(Phase phase, Status (Communicator::*step)()) {
  if (config_.blocking) {
    lifecycle_.enter(phase);
    return (this->*step)();
  }
  auto thread = queue_.background();
  WEIR_TRY(thread.status());
  lifecycle_.enter(phase);
  Status passing = lifecycle_.status();
  (*thread)->submit([this, step] { return (this->*step)(); });
  return passing;
}

Status Communicator::suspend_now() {
  resources_->wait_idle();
  // Nobody's memory goes while somebody is not done with it.
  if (Status met = resources_->bootstrap->barrier(); !met.ok()) {
    lifecycle_.fail(met, config_.blocking);
    return met;
  }
  const uint64_t bytes = resources_->memory_bytes();
  std::unique_ptr<Resources> left;
  {
    std::lock_guard lock(mutex_);
    left = std::move(resources_);
    suspended_ =
        std::make_unique<SuspendedState>(SuspendedState{left->listener, std::move(left->bootstrap), bytes});
    suspended_->bootstrap->activity().set_stage(Activity::Stage::suspended);
  }
  left.reset();
  lifecycle_.enter(Phase::suspended);
  WEIR_INFO(init, "rank {} is suspended and has released {}", rank_, bytes_words(static_cast<double>(bytes)));
  return {};
}

/// Under a name of its own, so that nothing of now meets anything of before.
Status Communicator::resume_now() {
  std::unique_ptr<Resources> made;
  const Status status = guarded([&]() -> Status {
    std::vector<Rank> everybody(static_cast<size_t>(ranks_));
    std::iota(everybody.begin(), everybody.end(), 0);
    const uint64_t before = suspended_->bootstrap->uid();
    const uint64_t uid =
        uid_in_job(static_cast<uint32_t>(before >> 32), hash_text(fmt::format("{:x} resumed", before)));
    auto fresh = Bootstrap::subset(*suspended_->bootstrap, everybody, uid, &lifecycle_.aborted());
    WEIR_TRY(fresh.status());
    (*fresh)->watchdog().set_stuck_ms(suspended_->bootstrap->watchdog().stuck_ms());
    auto resources = Resources::build(runtime_, suspended_->listener, std::move(*fresh), config_, gpu_);
    WEIR_TRY(resources.status());
    made = std::move(*resources);
    return set_up_step(*made->bootstrap, [&] {
      made->register_windows(runtime_.windows(), windows_);
      return made->make_backends({runtime_, config_, gpus_, gpu_, lifecycle_, queue_});
    });
  });
  if (!status.ok()) {
    lifecycle_.fail(status, config_.blocking);
    return status;
  }
  std::unique_ptr<SuspendedState> left;
  {
    std::lock_guard lock(mutex_);
    resources_ = std::move(made);
    left = std::move(suspended_);
  }
  become_ready();
  return {};
}

}  // namespace weir::core
