// SPDX-License-Identifier: Apache-2.0

#include "src/core/staged/staged_backend.h"

#include <algorithm>
#include <utility>

#include "src/base/exception.h"
#include "src/device/host_stream.h"

namespace weir::core {

using device::HostEvent;

class StagedBackend::StagedCall final : public Call {
 public:
  StagedCall(StagedBackend& backend, Batch batch, std::shared_ptr<StagedLaunch> launch)
      : backend_(backend), batch_(std::move(batch)), launch_(std::move(launch)) {}

  void start();
  bool advance() override {
    backend_.staged_.follow(*launch_);
    return !launch_->ended;
  }
  Status finish() override;

 private:
  StagedBackend& backend_;
  const Batch batch_;
  const std::shared_ptr<StagedLaunch> launch_;
  HostEvent done_;  ///< recorded where the places are not on a GPU
};

std::vector<Operation> StagedBackend::take(std::vector<Operation>& operations,
                                           std::span<const StreamPlace> places) const {
  if (std::ranges::any_of(places, &StreamPlace::on_gpu) || staged_.divides(operations))
    return std::exchange(operations, {});
  return {};
}

Result<std::unique_ptr<Backend::Call>> StagedBackend::prepare(Batch batch) {
  if (std::ranges::any_of(batch.operations, [](const Operation& operation) {
        const auto* const collective = std::get_if<CollectiveOp>(&operation);
        return collective != nullptr ? collective->bias != nullptr : is_one_sided(operation);
      }))
    return Status(
        Code::invalid_usage,
        "biases and one-sided calls require all ranks to be on host memory, but some rank uses a GPU");
  auto launch = staged_.prepare(batch.operations, batch.places);
  WEIR_TRY(launch.status());
  return std::unique_ptr<Call>(std::make_unique<StagedCall>(*this, std::move(batch), std::move(*launch)));
}

/// What cannot be queued fails its launch, which its own thread tells the communicator.
Status StagedBackend::start(std::span<Call* const> calls) {
  for (Call* call : calls) static_cast<StagedCall*>(call)->start();
  return {};
}

void StagedBackend::StagedCall::start() {
  OperationQueue& queue = backend_.queue_;
  queue.set_used();
  launch_->submit = [backend = &backend_](std::shared_ptr<StagedLaunch> launch) {
    backend->submit(std::move(launch), backend->queue_.draw());
  };
  backend_.staged_.begin(launch_);
  if (launch_->calls_back) return;
  device::HostStream& thread = backend_.staged_.thread();
  for (const StreamPlace& place : batch_.places) {
    if (place.host == nullptr) continue;
    HostEvent before;  // what is queued there already comes first
    before.record(place.host);
    before.hold(&thread);
  }
  backend_.submit(launch_, queue.queue(batch_.operations, backend_.ranks_, !launch_->on_gpu));
  if (!launch_->on_gpu) done_.record(&thread);
}

Status StagedBackend::StagedCall::finish() {
  if (launch_->on_gpu) return {};
  for (const StreamPlace& place : batch_.places)
    if (place.host != nullptr) done_.hold(place.host);
  if (!backend_.queue_.blocking()) return {Code::in_progress, "the operation continues in the background"};
  if (std::ranges::all_of(batch_.places, [](const StreamPlace& place) { return place.host != nullptr; }))
    return {};
  done_.synchronize();
  return launch_->status;
}

void StagedBackend::submit(std::shared_ptr<StagedLaunch> launch, const OperationQueue::Ticket& ticket) {
  const auto queue = [&] {
    staged_.thread().submit([this, own = launch, ticket] { return carry_out(*own, ticket); });
    return Status();
  };
  (void)guarded(queue, [&](const Status& why) {
    queue_.enter(ticket);
    (void)end(*launch, ticket, why);
  });
}

Status StagedBackend::carry_out(StagedLaunch& launch, const OperationQueue::Ticket& ticket) {
  queue_.enter(ticket);
  return end(launch, ticket, guarded([&] {
               const Status usable = lifecycle_.usable();
               return usable.ok() ? staged_.carry_out(launch) : usable;
             }));
}

/// Gives up the position of a launch that is over.
Status StagedBackend::end(StagedLaunch& launch, const OperationQueue::Ticket& ticket, Status status) {
  if (!status.ok()) lifecycle_.fail(status, false);
  launch.status = status;
  queue_.leave(ticket);
  launch.finish(status.ok());
  staged_.leave(launch);
  return status;
}

}  // namespace weir::core
