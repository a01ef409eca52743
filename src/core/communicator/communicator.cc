// SPDX-License-Identifier: Apache-2.0

#include "src/core/communicator/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "src/base/exception.h"
#include "src/base/log.h"
#include "src/core/communicator/group_launch.h"
#include "src/core/communicator/join.h"
#include "src/core/communicator/resources.h"
#include "src/core/communicator/runtime.h"
#include "src/core/communicator/set_up_step.h"
#include "src/core/communicator/suspend.h"

namespace weir::core {
namespace {

using Phase = Lifecycle::Phase;

Admission::Limits limits_of(const Options& options) {
  return {static_cast<uint64_t>(options.admitted_bytes), static_cast<uint64_t>(options.admitted_operations),
          options.admission_flushes};
}

/// That of the rank, of its parent, or of the calling thread; null where the process uses none.
device::Gpu* gpu_of(const Origin& origin, const Config& config, device::Gpus* gpus) {
  if (const Communicator* parent = parent_of(origin); parent != nullptr) return parent->gpu();
  if (config.gpu != nullptr || gpus == nullptr) return config.gpu;
  return gpus->of(nullptr);
}

/// A child's rank stays at the device that it pretends to be.
Config with_place(Config config, const Origin& origin) {
  const Communicator* const parent = parent_of(origin);
  if (parent == nullptr || parent->resources() == nullptr) return config;
  const std::vector<int>& places = parent->resources()->peer_table->pretended_places;
  if (!places.empty()) config.pretended_place = places[static_cast<size_t>(parent->rank())];
  return config;
}

/// A line for each network that carried something.
void log_counters(const Resources& resources) {
  if (log_level() < LogLevel::info) return;  // asking costs system calls
  for (const auto& transport : resources.transports) {
    const NetCounters counted = transport->counters();
    if (counted.carried())
      WEIR_INFO(net, "rank {}: {}: {}", resources.bootstrap->rank(), transport->name(), counted.describe());
  }
}

}  // namespace

Communicator::Communicator(Runtime& runtime, Origin origin, Config config)
    : runtime_(runtime),
      origin_(std::move(origin)),
      config_(with_place(std::move(config), origin_)),
      gpu_(gpu_of(origin_, config_, runtime.gpus())),
      gpus_(gpu_ != nullptr ? runtime.gpus() : nullptr),
      lifecycle_([&runtime] {
        runtime.activities().settle();
        runtime.dumper().note_failure();
      }),
      queue_(limits_of(runtime.options()), config_.blocking) {
  if (const auto* from = std::get_if<IdOrigin>(&origin_)) {
    ranks_ = from->ranks;
    rank_ = from->rank;
  } else if (const auto* grown = std::get_if<GrowOrigin>(&origin_)) {
    ranks_ = grown->ranks;
    rank_ = grown->parent->rank();
  }
}

Communicator::~Communicator() {
  const Status now = guarded([this] { return state(); });
  if (now.code() == Code::in_progress || now.is_shortage()) abort();
  queue_.stop();
  if (resources_ != nullptr) resources_->end_gpu_backends();
  queue_.wait_idle();  // what is queued on streams uses the back end on host memory
  (void)guarded([this] {
    if (resources_ != nullptr) log_counters(*resources_);
    queue_.log_counters();
    return Status();
  });
}

Status Communicator::connect() {
  lifecycle_.enter(Phase::connecting);
  Communicator* const parent = parent_of(origin_);
  if (const auto* from = std::get_if<ShrinkOrigin>(&origin_); from != nullptr && from->after_failure) {
    const Status why(Code::invalid_usage,
                     "the communicator was aborted by ncclCommShrink with NCCL_SHRINK_ABORT");
    if (parent->resources() != nullptr) parent->lifecycle_.revoke(why);
    parent->abort();
  }
  if (config_.blocking) return connect_now();
  // Children of one parent use its bootstrap one after the other: they wait in the parent's order.
  auto thread = (parent != nullptr ? parent->queue_ : queue_).background();
  if (!thread.ok()) {
    if (const auto* from = std::get_if<IdOrigin>(&origin_)) decline(runtime_, *from, thread.status());
    lifecycle_.fail(thread.status());
    return thread.status();
  }
  if (parent != nullptr) parent->lifecycle_.begin_child();
  (*thread)->submit([this, parent] {
    Status done = connect_now();
    if (parent != nullptr) parent->lifecycle_.end_child();
    return done;
  });
  return {Code::in_progress, "the communicator is being set up"};
}

Status Communicator::connect_now() {
  const auto meet = [this]() -> Status {
    auto joined =
        std::visit([this](const auto& from) { return join(runtime_, from, lifecycle_.aborted()); }, origin_);
    WEIR_TRY(joined.status());
    if (joined->bootstrap == nullptr) return {};
    ranks_ = joined->bootstrap->size();
    rank_ = joined->bootstrap->rank();
    auto resources =
        Resources::build(runtime_, std::move(joined->listener), std::move(joined->bootstrap), config_, gpu_);
    WEIR_TRY(resources.status());
    resources_ = std::move(*resources);
    return set_up_step(*resources_->bootstrap, [this] {
      resources_->register_windows(runtime_.windows(), windows_);
      return resources_->make_backends({runtime_, config_, gpus_, gpu_, lifecycle_, queue_});
    });
  };
  const Status status = guarded([&]() -> Status {
    try {
      return meet();
    } catch (const std::bad_alloc&) {  // as drive()
      return Status::shortage(fmt::format("rank {} has no memory left to set up a communicator", rank_));
    }
  });
  if (!status.ok()) {
    lifecycle_.fail(status, config_.blocking);
    return status;
  }
  become_ready();
  return status;
}

/// The last touch of a thread that connects: from then on another thread may destroy the communicator.
void Communicator::become_ready() {
  std::lock_guard lock(mutex_);
  if (resources_ != nullptr && lifecycle_.aborted().load()) resources_->abort();
  lifecycle_.enter(Phase::ready);
}

Status Communicator::run(std::span<const Operation> operations, const StreamPlace& place) {
  const bool at_once =
      place.host == nullptr && !place.on_gpu && config_.blocking && !queue_.used() && lifecycle_.ready();
  if (!at_once) return launch(*this, operations, place);
  Execution* const execution = resources_->execution.get();
  Status status = guarded([&] {
    execution->begin(operations);
    return drive({&execution, 1});
  });
  if (!status.ok()) [[unlikely]]
    lifecycle_.fail(status);
  return status;
}

Status Communicator::finalize() {
  if (lifecycle_.ready()) lifecycle_.enter(Phase::finalizing);
  if (!config_.blocking && state().code() == Code::in_progress)
    return {Code::in_progress, "operations are in flight"};
  if (resources_ != nullptr) resources_->wait_idle();
  return state();
}

void Communicator::abort(const Status& why) {
  if (!why.ok()) lifecycle_.fail(why);
  lifecycle_.request_abort();
  queue_.abort();
  std::lock_guard lock(mutex_);
  const Phase phase = lifecycle_.phase();
  // Who connects looks at the request, and has no resources yet that another thread may touch.
  if (resources_ != nullptr && phase != Phase::connecting && phase != Phase::resuming) resources_->abort();
}

Status Communicator::revoke() {
  if (resources_ == nullptr) return why_not_connected(*this);
  Watchdog& watchdog = resources_->bootstrap->watchdog();
  const std::string who = watchdog.peers()[static_cast<size_t>(rank_)].describe(rank_);
  const Status revoked(Code::invalid_usage, "the communicator was revoked (ncclCommRevoke) by " + who);
  lifecycle_.revoke(revoked);
  (void)watchdog.fail({-1, revoked});
  abort();
  resources_->wait_idle();
  return {};
}

Status Communicator::state() const {
  Status now = lifecycle_.status();
  if (!now.ok()) return now;
  if (lifecycle_.revoked()) return now;
  std::lock_guard lock(mutex_);
  if (suspended_ != nullptr) return suspended_->bootstrap->activity().status();
  if (resources_ == nullptr) return now;
  const auto backends = resources_->backends();
  const bool waits =
      lifecycle_.phase() == Phase::finalizing
          ? !std::ranges::all_of(backends, [](const Backend* one) { return one == nullptr || one->idle(); })
          : queue_.in_background();
  if (!config_.blocking && waits) return {Code::in_progress, "operations are in flight"};
  // What another rank has told. To a rank that has nothing more to do the end of others means nothing, and
  // where kernels are under way, their monitor is about to say it together with the call.
  const bool later = lifecycle_.phase() == Phase::finalizing ||
                     (resources_->device != nullptr && !resources_->device->idle());
  return later ? now : resources_->bootstrap->activity().status();
}

Result<NetCounters> Communicator::net_counters() const {
  if (lifecycle_.status().code() == Code::in_progress)
    return Status(Code::invalid_usage, "the communicator is being set up and has no counters yet");
  {
    std::lock_guard lock(mutex_);  // it may be suspended meanwhile
    if (resources_ != nullptr) {
      NetCounters all;
      for (const auto& transport : resources_->transports) all += transport->counters();
      return all;
    }
  }
  return why_not_connected(*this);
}

uint64_t Communicator::memory_bytes() const {
  const Phase phase = lifecycle_.phase();
  if (phase == Phase::connecting || phase == Phase::created) return 0;
  std::lock_guard lock(mutex_);
  if (suspended_ != nullptr) return suspended_->bytes;
  return resources_ != nullptr ? resources_->memory_bytes() : 0;
}

Status why_not_connected(const Communicator& communicator) {
  const Status why = communicator.state();
  if (!why.ok()) return why;
  if (communicator.lifecycle().phase() == Phase::suspended) return suspended_status();
  return {Code::invalid_usage, "the communicator was not connected"};
}

}  // namespace weir::core
