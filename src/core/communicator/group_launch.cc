// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <memory>

#include "src/core/communicator/communicator.h"
#include "src/core/gpu/device_collectives.h"
#include "src/device/host_stream.h"

namespace weir::core {

using device::HostEvent;
using device::HostStream;

/// The launch of a group over several communicators or streams: all advance together, since they may wait for
/// each other.
class GroupLaunch {
 public:
  GroupLaunch(std::span<const Target> targets, std::span<const Operation> operations);
  Status run();

 private:
  /// One communicator's operations in a group.
  struct Part {
    Communicator* communicator;
    std::vector<Operation> operations;
    std::vector<StreamPlace> places;  ///< ordered by first use; the first one carries the operations out
  };

  Status begin_device_collectives();
  Status end_device_collectives();
  Status begin_staged();
  Status end_staged();
  Status run_in_background() const;
  Status run_on_streams();
  Status run_on_stream(HostStream* stream, std::span<Part> parts);

  std::vector<Part> parts_;  ///< parts that have not begun
  std::vector<std::pair<Communicator*, Communicator::Begun>> begun_;
  std::vector<std::pair<Communicator*, DeviceCollectives::Call>> queued_;
};

GroupLaunch::GroupLaunch(std::span<const Target> targets, std::span<const Operation> operations) {
  for (size_t i = 0; i < targets.size(); ++i) {
    const auto& [communicator, place] = targets[i];
    auto part = std::find_if(parts_.begin(), parts_.end(),
                             [&](const Part& p) { return p.communicator == targets[i].communicator; });
    if (part == parts_.end()) part = parts_.insert(part, {communicator, {}, {}});
    part->operations.push_back(operations[i]);
    if (std::find(part->places.begin(), part->places.end(), place) == part->places.end()) {
      part->places.push_back(place);
    }
  }
}

Status GroupLaunch::run() {
  for (const Part& part : parts_) WEIR_TRY(part.communicator->usable());
  const bool blocking = parts_[0].communicator->config().blocking;
  WEIR_TRY(begin_device_collectives());
  Status status = begin_staged();
  if (status.ok() && !parts_.empty()) status = blocking ? run_on_streams() : run_in_background();
  Status ended = end_staged();
  if (Status left = end_device_collectives(); ended.ok()) ended = std::move(left);
  return status.ok() || (status.code() == Code::in_progress && !ended.ok()) ? ended : status;
}

/// Queues the kernels of all communicators before any stream waits for one, since they wait for each other.
Status GroupLaunch::begin_device_collectives() {
  for (Part& part : parts_) {
    const auto rest = std::stable_partition(
        part.operations.begin(), part.operations.end(),
        [&](const Operation& operation) { return !part.communicator->runs_on_device(operation); });
    std::vector<Operation> collectives(rest, part.operations.end());
    part.operations.erase(rest, part.operations.end());
    if (collectives.empty()) continue;
    auto call = part.communicator->device_collectives_->prepare(std::move(collectives), part.places, false);
    if (!call.ok()) {
      for (const auto& [communicator, prepared] : queued_)
        communicator->device_collectives_->forget(prepared);
      return call.status();
    }
    queued_.emplace_back(part.communicator, std::move(*call));
  }
  Status status;
  for (const auto& [communicator, call] : queued_)
    if (status.ok()) status = communicator->device_collectives_->enter(call);
  for (auto& [communicator, call] : queued_)
    if (status.ok()) status = communicator->device_collectives_->queue(call);
  if (!status.ok()) {
    for (const auto& [communicator, call] : queued_) communicator->device_collectives_->give_up(call, status);
    return status;
  }
  std::erase_if(parts_, [](const Part& part) { return part.operations.empty(); });
  return {};
}

Status GroupLaunch::end_device_collectives() {
  Status worst;
  for (const auto& [communicator, call] : queued_) {
    Status status = communicator->device_collectives_->leave(call);
    if (status.ok()) status = communicator->usable();
    if (worst.ok()) worst = std::move(status);
  }
  return worst;
}

/// Queues the group's beginning on all GPU streams before any of them waits for its end, since communicators
/// may share a stream.
Status GroupLaunch::begin_staged() {
  const auto rest = std::stable_partition(parts_.begin(), parts_.end(), [](const Part& part) {
    return part.communicator->is_staged(part.operations, part.places);
  });
  for (auto part = parts_.begin(); part != rest; ++part) {
    auto begun = part->communicator->begin_staged(std::move(part->operations), std::move(part->places));
    WEIR_TRY(begun.status());
    begun_.emplace_back(part->communicator, std::move(*begun));
  }
  parts_.erase(parts_.begin(), rest);
  return {};
}

/// Ends the communicators step by step in rotation: one may wait for what another's next step sends.
Status GroupLaunch::end_staged() {
  for (bool more = true; more;) {
    more = false;
    for (const auto& [communicator, begun] : begun_) more |= communicator->follow_staged(begun);
  }
  Status worst;
  for (const auto& [communicator, begun] : begun_) {
    Status status = communicator->end_staged(begun);
    if (worst.ok() || worst.code() == Code::in_progress) worst = status.ok() ? worst : std::move(status);
  }
  return worst;
}

/// Runs non-blocking communicators, each on its own background stream.
Status GroupLaunch::run_in_background() const {
  Status worst;
  for (const Part& part : parts_) {
    Status status = part.communicator->run(part.operations, nullptr);
    if (worst.ok() || worst.code() == Code::in_progress) worst = std::move(status);
  }
  return worst;
}

/// Runs communicators that share a stream (or have none) together on its thread, since they may wait for each
/// other.
Status GroupLaunch::run_on_streams() {
  while (!parts_.empty()) {
    HostStream* const stream = parts_[0].places[0].host;
    auto rest = std::stable_partition(parts_.begin(), parts_.end(),
                                      [&](const Part& part) { return part.places[0].host == stream; });
    WEIR_TRY(run_on_stream(stream, {parts_.begin(), rest}));
    parts_.erase(parts_.begin(), rest);
  }
  return {};
}

Status GroupLaunch::run_on_stream(HostStream* stream, std::span<Part> parts) {
  std::vector<Communicator::Share> shares;
  for (Part& part : parts) {
    shares.push_back(part.communicator->queue(std::move(part.operations)));
    for (const StreamPlace& other : part.places) {  // operations queued on it before come first
      HostEvent before;
      before.record(other.host);
      if (other.host != stream) before.hold(stream);
    }
  }
  if (stream == nullptr) return Communicator::carry_out(shares);
  stream->submit([shares = std::move(shares)]() mutable { return Communicator::carry_out(shares); });
  HostEvent done;
  done.record(stream);
  for (const Part& part : parts) {
    for (const StreamPlace& other : part.places) {
      if (other.host != stream) done.hold(other.host);
    }
  }
  return {};
}

Status launch_group(std::span<const Target> targets, std::span<const Operation> operations) {
  const bool one_target =
      std::all_of(targets.begin(), targets.end(), [&](const Target& target) { return target == targets[0]; });
  if (one_target) return targets[0].communicator->run(operations, targets[0].place);
  return GroupLaunch(targets, operations).run();
}

}  // namespace weir::core
