// SPDX-License-Identifier: Apache-2.0

#include "src/core/staged/staged.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/base/clock.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/core/call/poll_until.h"
#include "src/core/staged/segmentation.h"
#include "src/device/host_stream.h"

namespace weir::core {
namespace {

constexpr int64_t kStagedAfterAbortNs = 100'000'000;  // instead of kStreamEndNs
/// Naps after which the driver is asked whether the GPU has failed: about a second.
constexpr int64_t kNapsUntilAsked = 10'000;

/// Gates that streams or graphs may still come to. Never destroyed: graphs may outlive static destructors.
void keep_for_good(std::shared_ptr<LaunchState> gate) {
  static auto* const kMutex = new std::mutex;
  static auto* const kGates = new std::vector<std::shared_ptr<LaunchState>>;
  std::lock_guard lock(*kMutex);
  kGates->push_back(std::move(gate));
}

bool is_reached(const device::GpuFlag& flag, uint32_t value) {
  return static_cast<int32_t>(flag.host->load(std::memory_order_acquire) - value) >= 0;
}

/// Now that it is there.
void read_factor(Operation& operation) {
  auto* const collective = std::get_if<CollectiveOp>(&operation);
  if (collective != nullptr) collective->reduction.read_factor(collective->type);
}

}  // namespace

Staged::~Staged() {
  stop();
  if (gate_ == nullptr) return;
  settle_streams();
  if (idle_ != nullptr) (void)dependencies_.gpu->destroy_stream(idle_);
}

void Staged::stop() {
  if (gate_ != nullptr) {
    std::lock_guard lock(gate_->mutex);
    gate_->open = false;
    for (const auto& launch : gate_->expected) launch->finish(false);
  }
  thread_.reset();
}

/// Frees flags and memory only if no stream uses them any more.
void Staged::settle_streams() {
  const auto all_passed = [&] {
    return std::all_of(streams_.begin(), streams_.end(),
                       [](const auto& entry) { return is_reached(entry.second.passed, entry.second.calls); });
  };
  const int64_t until = now_ns() + (dependencies_.aborted->load() ? kStagedAfterAbortNs : kStreamEndNs);
  poll_until([&](int64_t) { return all_passed() || now_ns() > until; });
  std::unique_lock lock(gate_->mutex);
  const bool awaited = !gate_->expected.empty();
  lock.unlock();
  if (awaited || !all_passed()) keep_for_good(std::move(gate_));
}

bool Staged::divides(std::span<const Operation> operations) const {
  return std::any_of(operations.begin(), operations.end(), [&](const Operation& operation) {
    const auto* const collective = std::get_if<CollectiveOp>(&operation);
    return collective != nullptr &&
           segmentation_of(*collective, dependencies_.rank, dependencies_.ranks).pieces > 1;
  });
}

bool Staged::is_away(const void* address) const {
  if (dependencies_.gpus == nullptr || address == nullptr) return false;
  const device::GpuMemory kind = dependencies_.gpus->kind_of(address);
  return kind == device::GpuMemory::device || kind == device::GpuMemory::managed;
}

/// Whether streams and buffers are of the communicator's GPU.
Status Staged::check(std::span<const Operation> operations, std::span<const StreamPlace> places) const {
  const LocalGpu own(dependencies_.gpus, dependencies_.gpu, dependencies_.rank);
  for (const StreamPlace& place : places) WEIR_TRY(own.check(place));
  for (const Operation& operation : operations) {
    if (bytes_of(operation) == 0) continue;
    const auto* const collective = std::get_if<CollectiveOp>(&operation);
    const Segmentation segmentation =
        collective == nullptr ? Segmentation()
                              : segmentation_of(*collective, dependencies_.rank, dependencies_.ranks);
    if (collective == nullptr ? input_of(operation) != nullptr : segmentation.input_blocks > 0)
      WEIR_TRY(own.check(input_of(operation)));
    if (collective == nullptr ? output_of(operation) != nullptr : segmentation.output_blocks > 0)
      WEIR_TRY(own.check(output_of(operation)));
    if (collective != nullptr && collective->reduction.factor_at != nullptr)
      WEIR_TRY(own.check(collective->reduction.factor_at));
  }
  return {};
}

Status Staged::make_gate() {
  auto idle = dependencies_.gpu->make_stream();
  WEIR_TRY(idle.status());
  idle_ = *idle;
  gate_ = std::make_shared<LaunchState>(*dependencies_.gpu);
  WEIR_INFO(init, "rank {} stages memory of {} through pinned host memory", dependencies_.rank,
            dependencies_.gpu->description());
  return {};
}

Result<std::shared_ptr<StagedLaunch>> Staged::prepare(std::span<const Operation> operations,
                                                      std::span<const StreamPlace> places) {
  const auto on_gpu =
      std::count_if(places.begin(), places.end(), [](const StreamPlace& p) { return p.on_gpu; });
  if (on_gpu != 0 && static_cast<size_t>(on_gpu) != places.size()) {
    return Status(Code::invalid_usage,
                  "a group has operations of one communicator on streams of a GPU and on host streams (or on "
                  "host memory without a stream); expected all on streams of the GPU, or none");
  }
  if (thread_ == nullptr) {
    auto thread = device::HostStream::create();
    WEIR_TRY(thread.status());
    thread_ = std::move(*thread);
  }
  auto launch = std::make_shared<StagedLaunch>();
  launch->on_gpu = on_gpu > 0;
  if (launch->on_gpu) {
    WEIR_TRY(check(operations, places));
    if (gate_ == nullptr) WEIR_TRY(make_gate());
    WEIR_TRY(take_marks(*launch, places));
  }
  if (dependencies_.pace != nullptr) launch->operations.assign(operations.begin(), operations.end());
  WEIR_TRY(lay_out(*launch, operations));
  return launch;
}

/// Room for the operations, and a line in the log when it grew.
Status Staged::lay_out(StagedLaunch& launch, std::span<const Operation> operations) {
  StagingMemory& memory = !launch.on_gpu    ? host_memory_
                          : launch.captured ? gate_->graph_memory
                                            : gate_->memory;
  const StagingSteps layout(dependencies_.rank, dependencies_.ranks,
                            [this](const void* address) { return is_away(address); });
  const size_t before = memory.bytes();
  const StagingSteps::Capacity capacity = layout.capacity_for(operations);
  WEIR_TRY(memory.slots.reserve(capacity.slot));
  WEIR_TRY(memory.messages.reserve(capacity.messages));
  if (memory.bytes() > before)
    WEIR_INFO(alloc, "rank {} stages operations in {} of {} memory", dependencies_.rank,
              bytes_words(static_cast<double>(memory.bytes())), launch.on_gpu ? "pinned" : "host");
  launch.steps = layout.lay_out(operations, memory.slots.slots(), memory.messages.slots().memory[0]);
  return {};
}

Result<Staged::StreamFlags> Staged::take_flags() {
  StreamFlags made;
  for (device::GpuFlag* flag :
       {&made.told, &made.may[0], &made.may[1], &made.entered, &made.left, &made.passed}) {
    auto taken = gate_->flags.take();
    WEIR_TRY(taken.status());
    *flag = *taken;
  }
  return made;
}

/// A mark per stream; a captured one has flags of its own, which every launch of the graph uses.
Status Staged::take_marks(StagedLaunch& launch, std::span<const StreamPlace> places) {
  launch.gate = gate_.get();
  for (const StreamPlace& place : places) {
    auto captured = dependencies_.gpu->captures(place.gpu);
    WEIR_TRY(captured.status());
    if (&place != &places.front() && *captured != launch.captured)
      return {Code::invalid_usage,
              "a group has operations on a stream that is being captured and on one that "
              "is not; expected all or none"};
    launch.captured = *captured;
  }
  for (const StreamPlace& place : places) {
    auto known = launch.captured ? streams_.end() : streams_.find(place.gpu);
    StreamFlags own;
    if (known == streams_.end()) {
      auto taken = take_flags();
      WEIR_TRY(taken.status());
      own = *taken;
      if (!launch.captured) streams_.emplace(place.gpu, own);
    } else {
      own = known->second;
    }
    if (launch.marks.empty()) {
      launch.told = own.told;
      launch.may = own.may;
      launch.first = own.steps;
    }
    launch.marks.push_back({place.gpu, own.entered, own.left, own.passed, own.calls + 1});
  }
  calls_back_ = calls_back_ || launch.captured;
  launch.calls_back = calls_back_;
  return {};
}

void Staged::begin(const std::shared_ptr<StagedLaunch>& launch) {
  if (!launch->on_gpu) {
    launch->ended = true;
    pending_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (launch->calls_back) {
    std::lock_guard lock(gate_->mutex);
    gate_->expected.push_back(launch);
  }
  if (!launch->captured) {
    for (const StagedLaunch::Mark& mark : launch->marks) streams_.at(mark.stream).calls = mark.value;
    streams_.at(launch->marks[0].stream).steps += static_cast<uint32_t>(launch->steps.size());
    pending_.fetch_add(1, std::memory_order_relaxed);
  }
  fail_if(*launch, queue_entry(launch));
  if (launch->captured) return;
  last_ = launch->marks[0].stream;
  any_ = true;
}

/// The thread sees it, and lets the stream go on: who waits for the stream finds the error.
void Staged::fail_if(StagedLaunch& launch, Status status) {
  if (status.ok()) return;
  launch.ended = true;
  launch.trouble = std::move(status);
  launch.failed.store(true, std::memory_order_release);
  if (!launch.calls_back)
    (void)dependencies_.gpu->await(launch.may_flag(0), StagedLaunch::kFailed, launch.marks[0].stream,
                                   device::GpuCondition::has_any);
  (void)queue_exit(launch);
}

/// The first stream comes after the others, and after the last call, whose memory this one uses.
Status Staged::queue_entry(const std::shared_ptr<StagedLaunch>& launch) {
  const auto& marks = launch->marks;
  const device::GpuStream stream = marks[0].stream;
  if (!launch->captured && any_ && last_ != stream) {
    const StreamFlags& before = streams_.at(last_);
    WEIR_TRY(dependencies_.gpu->await(before.passed, before.calls, stream));
  }
  for (size_t i = 1; i < marks.size(); ++i)
    WEIR_TRY(dependencies_.gpu->set(marks[i].entered, 1, marks[i].stream));
  for (size_t i = 1; i < marks.size(); ++i) {
    WEIR_TRY(dependencies_.gpu->await(marks[i].entered, 1, stream));
    WEIR_TRY(dependencies_.gpu->set(marks[i].entered, 0, stream));
  }
  if (launch->calls_back) WEIR_TRY(dependencies_.gpu->call(&StagedLaunch::arrive, launch.get(), stream));
  return fill(*launch);
}

/// Queues inputs of steps, as far ahead as there are slots.
Status Staged::fill(StagedLaunch& launch) {
  const auto may_fill = [&](size_t step) {
    return step < launch.steps.size() && step < launch.followed + Staging::kSlots &&
           (!launch.steps[step].begins || step == launch.followed);
  };
  const device::GpuStream stream = launch.marks[0].stream;
  for (; may_fill(launch.filled); ++launch.filled) {
    WEIR_TRY(copy(launch.steps[launch.filled].in, stream));
    WEIR_TRY(
        dependencies_.gpu->set(launch.told, launch.first + static_cast<uint32_t>(launch.filled) + 1, stream));
  }
  return {};
}

Status Staged::copy(std::span<const StagingStep::Copy> copies, device::GpuStream stream) {
  for (const StagingStep::Copy& one : copies)
    WEIR_TRY(dependencies_.gpu->copy(one.to, one.from, one.bytes, stream));
  return {};
}

void Staged::follow(StagedLaunch& launch) {
  if (launch.ended) return;
  if (dependencies_.waits && !launch.captured) wait_until_allowed(launch, launch.followed);
  fail_if(launch, queue_step(launch));
  if (launch.ended || launch.followed < launch.steps.size()) return;
  fail_if(launch, queue_exit(launch));
  launch.ended = true;
}

Status Staged::queue_step(StagedLaunch& launch) {
  const device::GpuStream stream = launch.marks[0].stream;
  const size_t step = launch.followed++;
  WEIR_TRY(dependencies_.gpu->await(launch.may_flag(step), launch.may_value(step), stream,
                                    device::GpuCondition::has_any));
  WEIR_TRY(copy(launch.steps[step].out, stream));
  return fill(launch);
}

Status Staged::queue_exit(const StagedLaunch& launch) {
  const auto& marks = launch.marks;
  for (size_t i = 1; i < marks.size(); ++i)
    WEIR_TRY(dependencies_.gpu->set(marks[i].left, 1, marks[0].stream));
  for (size_t i = 1; i < marks.size(); ++i) {
    WEIR_TRY(dependencies_.gpu->await(marks[i].left, 1, marks[i].stream));
    WEIR_TRY(dependencies_.gpu->set(marks[i].left, 0, marks[i].stream));
  }
  for (const StagedLaunch::Mark& mark : marks)
    if (!launch.captured) WEIR_TRY(dependencies_.gpu->set(mark.passed, mark.value, mark.stream));
  return {};
}

void Staged::wait_until_allowed(const StagedLaunch& launch, size_t step) const {
  const std::atomic<uint32_t>& word = *launch.may_flag(step).host;
  poll_until([&](int64_t) { return (word.load(std::memory_order_acquire) & launch.may_value(step)) != 0; });
}

void Staged::leave(const StagedLaunch& launch) {
  if (!launch.captured) pending_.fetch_sub(1, std::memory_order_release);
}

void Staged::wait_idle() const {
  poll_until([&](int64_t) { return idle() || dependencies_.aborted->load(std::memory_order_relaxed); });
}

Status Staged::wait_until_told(const StagedLaunch& launch, size_t step) const {
  Status asked;
  poll_until([&](int64_t naps) {
    if (naps > 0 && naps % kNapsUntilAsked == 0) asked = dependencies_.gpu->synchronize(idle_);
    return is_reached(launch.told, launch.first + static_cast<uint32_t>(step) + 1) || !asked.ok() ||
           launch.failed.load(std::memory_order_acquire) ||
           dependencies_.aborted->load(std::memory_order_relaxed);
  });
  if (launch.failed.load(std::memory_order_acquire)) return launch.trouble;
  if (dependencies_.aborted->load(std::memory_order_relaxed))
    return {Code::invalid_usage,
            "the communicator was aborted (by ncclCommAbort, or by ncclCommShrink with NCCL_SHRINK_ABORT)"};
  return asked;
}

Status Staged::carry_out(const StagedLaunch& launch) {
  for (size_t i = 0; i < launch.steps.size(); ++i) {
    const StagingStep& step = launch.steps[i];
    if (launch.on_gpu) WEIR_TRY(wait_until_told(launch, i));
    for (const StagingStep::Copy& one : step.in)
      if (!launch.on_gpu) std::memmove(one.to, one.from, one.bytes);
    if (dependencies_.pace != nullptr && i == 0) dependencies_.pace->begin(launch.operations);
    std::vector<Operation> operations = step.operations;
    for (Operation& operation : operations) read_factor(operation);
    WEIR_TRY(dependencies_.run(operations));
    for (const StagingStep::Copy& one : step.out)
      if (!launch.on_gpu) std::memmove(one.to, one.from, one.bytes);
    if (launch.on_gpu && i + 1 < launch.steps.size()) launch.allow(i);
  }
  if (dependencies_.pace != nullptr && !launch.steps.empty()) dependencies_.pace->end(*dependencies_.aborted);
  return {};
}

}  // namespace weir::core
