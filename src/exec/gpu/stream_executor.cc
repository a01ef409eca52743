// SPDX-License-Identifier: Apache-2.0

#include "src/exec/gpu/stream_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "src/base/clock.h"
#include "src/base/service_thread.h"
#include "src/exec/gpu/stream_call.h"

namespace weir::exec::gpu {
namespace {

/// A rank that has not noticed another rank's failure within this time is assumed to be dead.
constexpr int64_t kDeadNs = 1'000'000'000;
/// Time between two releases of all flags: kNap while calls must end, kLongNap after retire().
constexpr std::chrono::microseconds kNap{100};
constexpr std::chrono::microseconds kLongNap{10'000};

struct StreamReady final : Ready {
  std::shared_ptr<const StreamExecutor::Prepared> prepared;
};

Status check_buffers(const Work& work) {
  const size_t element = size_of(work.type);
  for (const void* buffer : {static_cast<const void*>(work.input), static_cast<const void*>(work.output)}) {
    if (reinterpret_cast<uintptr_t>(buffer) % element == 0) continue;
    return Status(
        Code::invalid_argument,
        fmt::format(
            "the buffer at {} is not aligned to its elements of {} bytes ({}); kernels require alignment",
            buffer, element, name(work.type)));
  }
  return {};
}

}  // namespace

/// A call of which some passes are queued.
struct StreamExecutor::Open {
  std::shared_ptr<const Prepared> prepared;
  bool captured = false;
  uint32_t number = 0;  ///< of calls that are not captured
  std::vector<device::GpuStream> streams;
  std::optional<StreamCall> call;
};

StreamExecutor::StreamExecutor(Dependencies dependencies) : dependencies_(std::move(dependencies)) {}

Result<std::unique_ptr<StreamExecutor>> StreamExecutor::create(Dependencies dependencies) {
  std::unique_ptr<StreamExecutor> executor(new StreamExecutor(std::move(dependencies)));
  WEIR_TRY(executor->make_streams());
  auto releaser = start_thread(
      "weir release", [raw = executor.get()] { raw->release_on(); }, [](const Status&) {});
  WEIR_TRY(releaser.status());
  executor->releaser_ = std::move(*releaser);
  return executor;
}

Status StreamExecutor::make_streams() {
  device::GpuEvents& events = *dependencies_.gpu->events();
  auto forks = events.make(device::GpuEventUse::streams);
  WEIR_TRY(forks.status());
  forks_ = *forks;
  while (own_.size() + 1 < dependencies_.streams) {
    Own& own = own_.emplace_back();
    auto stream = dependencies_.gpu->make_stream();
    WEIR_TRY(stream.status());
    own.stream = *stream;
    auto joins = events.make(device::GpuEventUse::streams);
    WEIR_TRY(joins.status());
    own.joins = *joins;
  }
  return {};
}

StreamExecutor::~StreamExecutor() {
  // An aborted executor continues to release flags until its streams have ended.
  for (const Own& own : own_)
    if (own.stream != nullptr) (void)dependencies_.gpu->synchronize(own.stream);
  ends_.store(true);
  let_releaser_go_on();
  if (releaser_.joinable()) releaser_.join();
  device::GpuEvents& events = *dependencies_.gpu->events();
  for (const Own& own : own_) {
    if (own.stream != nullptr) (void)dependencies_.gpu->destroy_stream(own.stream);
    if (own.joins != nullptr) (void)events.destroy(own.joins);
  }
  if (forks_ != nullptr) (void)events.destroy(forks_);
}

Result<std::unique_ptr<Ready>> StreamExecutor::prepare(const ir::Plan&, std::span<const Program> programs,
                                                       const RunParameters&) {
  const GpuSegments& segments = dependencies_.segments;
  auto plan = plan_queue(programs, segments.rank, segments.bytes, FlagPages::kFlags);
  WEIR_TRY(plan.status());
  auto ready = std::make_unique<StreamReady>();
  ready->tile_bytes = plan->tile_bytes;
  ready->prepared = std::make_shared<const Prepared>(
      Prepared{programs[static_cast<size_t>(segments.rank)], std::move(*plan)});
  return std::unique_ptr<Ready>(std::move(ready));
}

Result<bool> StreamExecutor::queue_part(Ready& ready, const Work& work, device::GpuStream stream,
                                        size_t part) {
  if (part == 0) {
    open_.reset();
    if (aborted_.load()) return false;
    WEIR_TRY(begin(ready, work, stream));
  }
  auto more = open_->call->submit_part();
  WEIR_TRY(more.status());
  if (!*more) WEIR_TRY(end(stream));
  return *more;
}

Status StreamExecutor::begin(Ready& ready, const Work& work, device::GpuStream stream) {
  WEIR_TRY(check_buffers(work));
  auto open = std::make_unique<Open>();
  open->prepared = static_cast<StreamReady&>(ready).prepared;
  auto captured = dependencies_.gpu->captures(stream);
  WEIR_TRY(captured.status());
  open->captured = *captured;
  dependencies_.flags->enter(work.tag);
  if (!open->captured) {
    const std::lock_guard lock(mutex_);
    open->number = ++calls_;
    outstanding_.push_back({open->number, FlagPages::stamp_of(work.tag), open->prepared});
  }
  auto streams = fork(*open->prepared, stream, open->captured);
  WEIR_TRY(streams.status());
  open->streams = std::move(*streams);
  open->call.emplace(StreamCall::Dependencies{&dependencies_, open->prepared.get(), &work, &open->streams});
  open_ = std::move(open);
  return {};
}

Status StreamExecutor::end(device::GpuStream stream) {
  const std::unique_ptr<Open> open = std::move(open_);
  if (open->captured) return {};
  WEIR_TRY(join(open->streams, stream));
  return dependencies_.gpu->set(dependencies_.flags->done(), open->number, stream);
}

Status StreamExecutor::exchange(std::span<const PeerTransfer>, device::GpuStream) {
  return {Code::internal_error, "the stream executor does not support sends and receives"};
}

/// Assigns a stream to each lane: the caller's stream to the first lane with steps, then own streams
/// round-robin.
Result<std::vector<device::GpuStream>> StreamExecutor::fork(const Prepared& prepared,
                                                            device::GpuStream stream, bool captured) {
  const auto& lanes = prepared.program.lanes;
  std::vector<device::GpuStream> streams(lanes.size(), stream);
  size_t used = 0;
  for (size_t lane = 0; lane < lanes.size() && !captured; ++lane) {
    if (lanes[lane].empty()) continue;
    if (used % (own_.size() + 1) != 0) streams[lane] = own_[used % (own_.size() + 1) - 1].stream;
    ++used;
  }
  device::GpuEvents& events = *dependencies_.gpu->events();
  if (used > 1) WEIR_TRY(events.record(forks_, stream));
  for (const Own& own : own_) {
    if (std::find(streams.begin(), streams.end(), own.stream) == streams.end()) continue;
    WEIR_TRY(events.wait(forks_, own.stream));
  }
  return streams;
}

/// Makes the caller's stream, which runs the first lane, wait for the other streams.
Status StreamExecutor::join(const std::vector<device::GpuStream>& streams, device::GpuStream stream) {
  device::GpuEvents& events = *dependencies_.gpu->events();
  for (const Own& own : own_) {
    if (std::find(streams.begin(), streams.end(), own.stream) == streams.end()) continue;
    WEIR_TRY(events.record(own.joins, own.stream));
    WEIR_TRY(events.wait(own.joins, stream));
  }
  return {};
}

void StreamExecutor::abort() {
  if (aborted_.exchange(true)) return;
  dependencies_.flags->leave();
  let_releaser_go_on();
}

void StreamExecutor::let_releaser_go_on() {
  releases_.store(true);
  releases_.notify_one();
}

void StreamExecutor::retire() {
  retired_.store(true);
  abort();
}

void StreamExecutor::release_on() {
  releases_.wait(false);
  const int64_t until = now_ns() + kDeadNs;
  for (bool begun = false; !ends_.load();) {
    begun = begun || retired_.load() || dependencies_.flags->all_left() || now_ns() > until;
    if (begun) dependencies_.flags->release();
    std::this_thread::sleep_for(retired_.load() ? kLongNap : kNap);
  }
}

Look StreamExecutor::look() {
  Look look;
  look.left = dependencies_.flags->left();
  look.foreign = dependencies_.flags->foreign(look.foreign_tag);
  const uint32_t done = dependencies_.flags->done().host->load(std::memory_order_acquire);
  const std::lock_guard lock(mutex_);
  while (!outstanding_.empty() && static_cast<int32_t>(done - outstanding_.front().number) >= 0)
    outstanding_.pop_front();
  if (outstanding_.empty()) {
    seen_ = 0;
    return look;
  }
  const uint64_t seen = state_of(outstanding_.front());
  if (seen == seen_) look.waiting_for = peer_waited_for(outstanding_.front());
  seen_ = seen;
  return look;
}

/// A hash of the call's flags, which changes when a flag changes.
uint64_t StreamExecutor::state_of(const Outstanding& call) const {
  uint64_t state = call.number + uint64_t{1};
  for (const QueuedChannel& channel : call.prepared->plan.channels) {
    for (uint32_t slot = 0; slot < kQueuedSlots; ++slot)
      state = state * 0x9e3779b97f4a7c15u + value_of(channel, slot);
  }
  return state;
}

uint32_t StreamExecutor::value_of(const QueuedChannel& channel, uint32_t slot) const {
  return dependencies_.flags->flag(channel.receiver, channel.flag + slot)
      .host->load(std::memory_order_acquire);
}

/// A rank that has not sent a message for which a slot is free; else a rank that has not released a slot.
/// Messages come first because a rank that has not released a slot itself waits for another rank.
Rank StreamExecutor::peer_waited_for(const Outstanding& call) const {
  const auto& channels = call.prepared->plan.channels;
  for (const bool outgoing : {false, true}) {
    for (size_t c = 0; c < channels.size(); ++c) {
      const Channel& end = call.prepared->program.channels[c];
      if (end.outgoing != outgoing || end.peer == dependencies_.segments.rank) continue;
      bool is_free = false;
      for (uint32_t slot = 0; slot < kQueuedSlots; ++slot)
        is_free |= value_of(channels[c], slot) == FlagPages::free_value(call.stamp);
      if (is_free != outgoing) return end.peer;
    }
  }
  return -1;
}

}  // namespace weir::exec::gpu
