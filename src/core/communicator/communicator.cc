// SPDX-License-Identifier: Apache-2.0

#include "src/core/communicator/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "src/base/host.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/core/communicator/resources.h"
#include "src/core/communicator/runtime.h"
#include "src/core/gpu/device_collectives.h"
#include "src/core/staged/staged.h"
#include "src/device/host_stream.h"

namespace weir::core {
namespace {

struct Member {
  int32_t color = 0;
  int32_t key = 0;
};

/// The parent's ranks of the same colour, by key, then by rank in the parent.
std::vector<Rank> members_of(const std::vector<Member>& all, int color) {
  std::vector<Rank> members;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].color == color) members.push_back(static_cast<Rank>(rank));
  }
  std::stable_sort(members.begin(), members.end(), [&](Rank a, Rank b) {
    return all[static_cast<size_t>(a)].key < all[static_cast<size_t>(b)].key;
  });
  return members;
}

Admission::Limits limits_of(const Options& options) {
  return {static_cast<uint64_t>(options.admitted_bytes), static_cast<uint64_t>(options.admitted_operations),
          options.admission_flushes};
}

/// That of the rank; null where the process uses none.
device::Gpu* gpu_of(const Config& config, device::Gpus* gpus) {
  if (config.gpu != nullptr || gpus == nullptr) return config.gpu;
  return gpus->of(nullptr);
}

Status not_connected() { return {Code::invalid_usage, "the communicator was not connected"}; }

Status suspended_status() {
  return {Code::invalid_usage,
          "the communicator is suspended (ncclCommSuspend); expected ncclCommResume on all ranks first"};
}

}  // namespace

Communicator::Communicator(Runtime& runtime, const UniqueId& id, int ranks, Rank rank, Config config)
    : runtime_(runtime),
      gpu_(gpu_of(config, runtime.gpus())),
      gpus_(gpu_ != nullptr ? runtime.gpus() : nullptr),
      id_(id),
      ranks_(ranks),
      rank_(rank),
      config_(std::move(config)),
      state_(not_connected()),
      admission_(limits_of(runtime.options())) {}

Communicator::Communicator(Communicator& parent, int color, int key, Config config)
    : runtime_(parent.runtime_),
      gpu_(parent.gpu_),
      gpus_(parent.gpus_),
      id_(parent.id_),
      split_(SplitFrom{&parent, color, key}),
      ranks_(0),
      rank_(-1),
      config_(std::move(config)),
      state_(not_connected()),
      admission_(limits_of(runtime_.options())) {}

Communicator::Communicator(Communicator& parent, std::vector<Rank> excluded, bool after_failure,
                           Config config)
    : runtime_(parent.runtime_),
      gpu_(parent.gpu_),
      gpus_(parent.gpus_),
      id_(parent.id_),
      shrunk_(ShrunkFrom{&parent, std::move(excluded), after_failure}),
      ranks_(0),
      rank_(-1),
      config_(std::move(config)),
      state_(not_connected()),
      admission_(limits_of(runtime_.options())) {}

Communicator::Communicator(Communicator& parent, int ranks, std::optional<UniqueId> id, Config config)
    : runtime_(parent.runtime_),
      gpu_(parent.gpu_),
      gpus_(parent.gpus_),
      id_(parent.id_),
      grown_(GrownFrom{&parent, id}),
      ranks_(ranks),
      rank_(parent.rank_),
      config_(std::move(config)),
      state_(not_connected()),
      admission_(limits_of(runtime_.options())) {}

Communicator::~Communicator() {
  if (state().code() == Code::in_progress) abort();
  background_.reset();
  end_device_collectives();
  if (staged_ != nullptr) staged_->stop();  // its thread uses staged_
  staged_.reset();
  order_.wait_idle();
  if (resources_ != nullptr) log_counters();
  if (!admission_.limits_any()) return;
  const Admission::Counters queued = admission_.counters();
  WEIR_INFO(coll, "Admission: at most {} with {} were queued; {} waited",
            plural(static_cast<int64_t>(queued.most_operations), "operation"),
            bytes_words(static_cast<double>(queued.most_bytes)),
            plural(static_cast<int64_t>(queued.waits), "call"));
}

Status Communicator::connect() {
  set_state({Code::in_progress, "the communicator is being set up"});
  if (shrunk_ && shrunk_->after_failure) shrunk_->parent->abort();
  if (config_.blocking) return connect_now();
  // Children of one parent use its bootstrap one after the other: they wait in the parent's order.
  auto background = (parent() != nullptr ? *parent() : *this).background();
  WEIR_TRY(background.status());
  (*background)->submit([this] { return connect_now(); });
  return {Code::in_progress, "the communicator is being set up"};
}

Status Communicator::connect_now() {
  Status status;
  try {
    status = split_ ? join_split() : shrunk_ ? join_shrunk() : grown_ ? join_grown() : join_root(id_);
  } catch (const std::bad_alloc&) {  // as drive()
    status = {Code::system_error, fmt::format("rank {} has no memory left to set up a communicator", rank_)};
  }
  set_state(status);
  return status;
}

Communicator* Communicator::parent() const {
  return split_ ? split_->parent : shrunk_ ? shrunk_->parent : grown_ ? grown_->parent : nullptr;
}

Status Communicator::join_root(const UniqueId& id) {
  auto listener = runtime_.listener(id.root);
  WEIR_TRY(listener.status());
  Bootstrap::Spec spec;
  spec.id = id;
  spec.ranks = ranks_;
  spec.rank = rank_;
  spec.listener = *listener;
  spec.activities = &runtime_.activities();
  spec.roots = &runtime_.roots();
  spec.all_gathers = &runtime_.all_gathers();
  spec.host = runtime_.host();
  spec.timeouts = runtime_.timeouts();
  spec.abort = &aborted_;
  const ActivityRegistry::JoiningNote note(runtime_.activities(), {rank_, ranks_, id.root.text()});
  auto bootstrap = Bootstrap::join(spec);
  WEIR_TRY(bootstrap.status());
  return build(std::move(*listener), std::move(*bootstrap));
}

Status Communicator::join_split() {
  Communicator& parent = *split_->parent;
  auto fresh = fresh_meeting(parent);
  WEIR_TRY(fresh.status());
  Bootstrap& bootstrap = *fresh != nullptr ? **fresh : *parent.resources_->bootstrap;
  const uint32_t number = ++parent.splits_;
  const Member own{split_->color, split_->key};
  auto gathered = bootstrap.gather(ByteWriter().put(own).take());
  WEIR_TRY(gathered.status());
  if (split_->color < 0) return {};
  std::vector<Member> all;
  for (const Bytes& bytes : (*gathered)->by_rank()) all.push_back(ByteReader(bytes).get<Member>());
  const uint64_t uid =
      uid_in_job(static_cast<uint32_t>(bootstrap.uid() >> 32),
                 hash_text(fmt::format("{:x} split {} color {}", bootstrap.uid(), number, split_->color)));
  auto subset = Bootstrap::subset(bootstrap, members_of(all, split_->color), uid, &aborted_);
  WEIR_TRY(subset.status());
  ranks_ = (*subset)->size();
  rank_ = (*subset)->rank();
  return build(parent.resources_->listener, std::move(*subset));
}

/// What was revoked answers nobody any more.
Result<std::unique_ptr<Bootstrap>> Communicator::fresh_meeting(Communicator& parent) {
  if (parent.revoked()) return Bootstrap::without(*parent.resources_->bootstrap, {}, &aborted_);
  WEIR_TRY(parent.usable());
  return std::unique_ptr<Bootstrap>();
}

Status Communicator::join_shrunk() {
  Communicator& parent = *shrunk_->parent;
  parent.wait_idle();
  if (parent.suspended()) return suspended_status();
  if (parent.resources_ == nullptr) {
    const Status why = parent.state();
    return {Code::invalid_usage, "the communicator was never connected to its ranks and cannot be shrunk" +
                                     (why.ok() ? std::string() : ": " + why.message())};
  }
  if (shrunk_->after_failure)
    parent.set_state(
        {Code::invalid_usage, "the communicator was aborted by ncclCommShrink with NCCL_SHRINK_ABORT"});
  else if (!parent.revoked())
    WEIR_TRY(parent.usable());
  auto rest = Bootstrap::without(*parent.resources_->bootstrap, shrunk_->excluded, &aborted_);
  WEIR_TRY(rest.status());
  ranks_ = (*rest)->size();
  rank_ = (*rest)->rank();
  return build(parent.resources_->listener, std::move(*rest));
}

Status Communicator::build(std::shared_ptr<Listener> listener, std::unique_ptr<Bootstrap> bootstrap) {
  auto resources = Resources::build(runtime_, std::move(listener), std::move(bootstrap), config_, gpu_);
  WEIR_TRY(resources.status());
  resources_ = std::move(*resources);
  resources_->register_windows(runtime_.windows(), windows_);
  if (resources_->gpus_somewhere) {
    staged_ = make_staged();
    queued_ = true;  // operations may have to be divided
    WEIR_TRY(make_device_collectives());
  }
  if (aborted_.load()) {
    resources_->execution->abort();
    if (device_collectives_ != nullptr) device_collectives_->abort();
  }
  return {};
}

Status Communicator::run(std::span<const Operation> operations, device::HostStream* stream) {
  const bool at_once = stream == nullptr && config_.blocking && !queued_ &&
                       code_.load(std::memory_order_acquire) == static_cast<int>(Code::success);
  if (!at_once) return run_in_order(operations, stream);
  Execution* const execution = resources_->execution.get();
  execution->begin(operations);
  Status status = drive({&execution, 1});
  if (!status.ok()) [[unlikely]]
    set_state(status);
  return status;
}

Status Communicator::run_in_order(std::span<const Operation> operations, device::HostStream* stream) {
  WEIR_TRY(usable());
  const StreamPlace place{stream};
  if (is_staged(operations, {&place, 1})) return run_staged(operations, place);
  std::vector<Operation> own(operations.begin(), operations.end());
  if (stream == nullptr && config_.blocking) {
    Share share{this, std::move(own), order_.draw(), {}, false};
    return carry_out({&share, 1});
  }
  Share share = queue(std::move(own));
  if (stream == nullptr) {
    auto thread = background();
    WEIR_TRY(thread.status());
    stream = *thread;
  }
  stream->submit([share = std::move(share)]() mutable { return carry_out({&share, 1}); });
  if (config_.blocking) return {};
  return {Code::in_progress, "the operation continues in the background"};
}

Status Communicator::carry_out(std::span<Share> shares) {
  std::vector<Execution*> executions;
  for (Share& share : shares) {
    share.communicator->order_.enter(share.ticket);
    executions.push_back(share.communicator->resources_->execution.get());
    executions.back()->begin(share.operations);
  }
  Status status = drive(executions);
  for (size_t i = 0; i < shares.size(); ++i) {
    if (!executions[i]->status().ok()) shares[i].communicator->set_state(executions[i]->status());
    shares[i].communicator->order_.leave();
    if (shares[i].background) shares[i].communicator->in_background_.fetch_sub(1);
    if (shares[i].load.operations > 0) shares[i].communicator->admission_.leave(shares[i].load);
  }
  return status;
}

Status Communicator::finalize() {
  finalizing_.store(true);
  if (!config_.blocking && !all_done()) return {Code::in_progress, "operations are in flight"};
  wait_idle();
  return state();
}

void Communicator::wait_idle() {
  if (device_collectives_ != nullptr) device_collectives_->wait_idle();
  if (staged_ != nullptr) staged_->wait_idle();
  order_.wait_idle();
}

void Communicator::abort() {
  aborted_.store(true);
  admission_.abort();
  std::lock_guard lock(mutex_);
  const bool being_made = code_.load() == static_cast<int>(Code::in_progress) && !suspending_.load();
  if (resources_ == nullptr || being_made) return;
  resources_->bootstrap->activity().set_stage(Activity::Stage::aborted);
  resources_->execution->abort();
  if (device_collectives_ != nullptr) device_collectives_->abort();
}

Status Communicator::revoke() {
  if (resources_ == nullptr) return why_not_connected();
  revoked_.store(true);
  Watchdog& watchdog = resources_->bootstrap->watchdog();
  const std::string who = watchdog.peers()[static_cast<size_t>(rank_)].describe(rank_);
  const Status revoked(Code::invalid_usage, "the communicator was revoked (ncclCommRevoke) by " + who);
  (void)watchdog.fail({-1, revoked});
  abort();
  wait_idle();
  set_state(revoked);
  return {};
}

Status Communicator::state() const {
  std::lock_guard lock(mutex_);
  if (state_.ok() && !config_.blocking && (finalizing_.load() ? !all_done() : in_background_.load() != 0))
    return {Code::in_progress, "operations are in flight"};
  // What another rank has told, to one that is in no call.
  if (state_.ok() && resting_ != nullptr) return resting_->activity().status();
  if (state_.ok() && code_.load(std::memory_order_relaxed) == 0 && resources_ != nullptr)
    return resources_->bootstrap->activity().status();
  return state_;
}

Result<NetCounters> Communicator::net_counters() const {
  {
    std::lock_guard lock(mutex_);  // it may be suspended meanwhile
    if (state_.code() == Code::in_progress)
      return Status(Code::invalid_usage, "the communicator is being set up and has no counters yet");
    if (resources_ != nullptr) {
      NetCounters all;
      for (const auto& transport : resources_->transports) all += transport->counters();
      return all;
    }
  }
  return why_not_connected();
}

Status Communicator::why_not_connected() const {
  const Status why = state();
  if (!why.ok()) return why;
  return suspended() ? suspended_status() : not_connected();
}

Result<std::vector<Presence>> Communicator::presences() const {
  if (resources_ == nullptr) return why_not_connected();
  return resources_->bootstrap->presences();
}

Status Communicator::set_stuck_timeout(int64_t ms) {
  if (resources_ == nullptr) return why_not_connected();
  resources_->bootstrap->watchdog().set_stuck_ms(ms);
  return {};
}

Result<std::vector<RankPlace>> Communicator::places() const {
  if (resources_ == nullptr) return why_not_connected();
  return resources_->peer_table->cluster.places();
}

/// A line for each network that carried something.
void Communicator::log_counters() const {
  if (log_level() < LogLevel::info) return;  // asking costs system calls
  for (const auto& transport : resources_->transports) {
    const NetCounters counted = transport->counters();
    if (counted.carried()) WEIR_INFO(net, "rank {}: {}: {}", rank_, transport->name(), counted.describe());
  }
}

void Communicator::set_state(const Status& status) {
  {
    std::lock_guard lock(mutex_);
    const bool failed =
        !state_.ok() && state_.code() != Code::in_progress && status.code() != Code::in_progress;
    if (failed && resources_ != nullptr) return;  // the first error stays
    state_ = status;
    const Code code = status.ok() && suspended_.load() ? Code::invalid_usage : status.code();
    code_.store(static_cast<int>(code), std::memory_order_release);
  }
  if (!status.ok() && status.code() != Code::in_progress) runtime_.dumper().note_failure();
}

/// Success, or why no operation can be begun now.
Status Communicator::usable() const {
  std::lock_guard lock(mutex_);
  if (state_.code() == Code::in_progress) {
    return {Code::invalid_argument,
            "Attempt to use communicator before the previous operation returned ncclSuccess"};
  }
  if (state_.ok() && suspended_.load()) return suspended_status();
  return state_;
}

Communicator::Share Communicator::queue(std::vector<Operation> operations) {
  const Admission::Load load = admit(operations);
  queued_ = true;
  if (!config_.blocking) in_background_.fetch_add(1);
  return {this, std::move(operations), order_.draw(), load, !config_.blocking};
}

Admission::Load Communicator::admit(std::span<const Operation> operations) {
  Admission::Load load;
  if (admission_.limits_any() && config_.blocking) {
    load = load_of(operations, ranks_);
    admission_.enter(load);
  }
  return load;
}

bool Communicator::all_done() const {
  return order_.idle() && (staged_ == nullptr || staged_->idle()) &&
         (device_collectives_ == nullptr || device_collectives_->idle());
}

Result<device::HostStream*> Communicator::background() {
  if (background_ == nullptr) {
    auto stream = device::HostStream::create();
    WEIR_TRY(stream.status());
    background_ = std::move(*stream);
  }
  return background_.get();
}

}  // namespace weir::core
