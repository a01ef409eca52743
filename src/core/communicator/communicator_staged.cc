// SPDX-License-Identifier: Apache-2.0
// Calls on streams of a GPU, and those of all ranks that are divided because some rank has one.
#include <algorithm>
#include <cstdlib>

#include "src/core/communicator/communicator.h"
#include "src/core/communicator/resources.h"
#include "src/core/communicator/runtime.h"
#include "src/core/staged/staged.h"

namespace weir::core {
namespace {

/// Of a GPU in this process, if the program says how many the driver is to make; else as many as CUDA makes.
int hardware_queues() {
  for (const char* const name : {"CUDA_DEVICE_MAX_CONNECTIONS", "GPU_MAX_HW_QUEUES"})
    if (const char* const text = std::getenv(name); text != nullptr) return std::max(std::atoi(text), 1);
  return 8;
}

}  // namespace

std::unique_ptr<Staged> Communicator::make_staged() {
  Staged::Dependencies dependencies;
  dependencies.rank = rank_;
  dependencies.ranks = ranks_;
  dependencies.gpus = gpus_;
  dependencies.gpu = gpu_;
  dependencies.waits = hardware_queues() < resources_->gpu_sharers;
  dependencies.aborted = &aborted_;
  dependencies.run = [execution = resources_->execution.get()](std::span<const Operation> operations) {
    Execution* const one = execution;
    one->begin(operations);
    return drive({&one, 1});
  };
  return std::make_unique<Staged>(dependencies);
}

Status Communicator::run(std::span<const Operation> operations, const StreamPlace& place) {
  if (device_collectives_ != nullptr) return run_on_device(operations, place);
  return place.on_gpu ? run_staged(operations, place) : run(operations, place.host);
}

bool Communicator::is_staged(std::span<const Operation> operations,
                             std::span<const StreamPlace> places) const {
  if (std::any_of(places.begin(), places.end(), [](const StreamPlace& place) { return place.on_gpu; }))
    return true;
  return staged_ != nullptr && staged_->divides(operations);
}

Status Communicator::run_staged(std::span<const Operation> operations, const StreamPlace& place) {
  auto begun = begin_staged({operations.begin(), operations.end()}, {place});
  WEIR_TRY(begun.status());
  return end_staged(*begun);
}

Result<Communicator::Begun> Communicator::begin_staged(std::vector<Operation> operations,
                                                       std::vector<StreamPlace> places) {
  WEIR_TRY(usable());
  if (std::ranges::any_of(operations, [](const Operation& operation) {
        return operation.bias != nullptr || operation.side != Operation::Side::none;
      }))
    return Status(
        Code::invalid_usage,
        "biases and one-sided calls require all ranks to be on host memory, but some rank uses a GPU");
  auto prepared = staged_->prepare(operations, places);
  WEIR_TRY(prepared.status());
  Begun begun{std::move(*prepared), std::move(places), nullptr};
  StagedLaunch& launch = *begun.launch;
  queued_ = true;
  launch.submit = [this](std::shared_ptr<StagedLaunch> own) { submit_staged(std::move(own), {}); };
  staged_->begin(begun.launch);
  if (launch.calls_back) return begun;
  for (const StreamPlace& place : begun.places) {
    if (place.host == nullptr) continue;
    device::HostEvent before;  // what is queued there already comes first
    before.record(place.host);
    before.hold(&staged_->thread());
  }
  if (!launch.on_gpu && !config_.blocking) in_background_.fetch_add(1);
  const Admission::Load load = admit(operations);
  submit_staged(begun.launch, load);
  if (!launch.on_gpu) {
    begun.done = std::make_shared<device::HostEvent>();
    begun.done->record(&staged_->thread());
  }
  return begun;
}

bool Communicator::follow_staged(const Begun& begun) {
  staged_->follow(*begun.launch);
  return !begun.launch->ended;
}

Status Communicator::end_staged(const Begun& begun) {
  while (follow_staged(begun)) continue;
  if (begun.launch->on_gpu) return {};
  for (const StreamPlace& place : begun.places)
    if (place.host != nullptr) begun.done->hold(place.host);
  if (!config_.blocking) return {Code::in_progress, "the operation continues in the background"};
  const auto& places = begun.places;
  if (std::none_of(places.begin(), places.end(), [](const StreamPlace& p) { return p.host == nullptr; }))
    return {};
  begun.done->synchronize();
  return begun.launch->status;
}

void Communicator::submit_staged(std::shared_ptr<StagedLaunch> launch, const Admission::Load& load) {
  device::HostStream& thread = staged_->thread();
  thread.submit([this, own = std::move(launch), ticket = order_.draw(), load] {
    return carry_out_staged(*own, ticket, load);
  });
}

Status Communicator::carry_out_staged(StagedLaunch& launch, uint64_t ticket, const Admission::Load& load) {
  order_.enter(ticket);
  Status status = usable();
  if (status.ok()) status = staged_->carry_out(launch);
  if (!status.ok()) set_state(status);
  launch.status = status;
  order_.leave();
  if (load.operations > 0) admission_.leave(load);
  if (!launch.on_gpu && !config_.blocking) in_background_.fetch_sub(1);
  launch.finish(status.ok());
  staged_->leave(launch);
  return status;
}

}  // namespace weir::core
