#include <algorithm>
#include <memory>

#include "src/core/communicator.h"
#include "src/device/host_stream.h"

namespace weir::core {
namespace {

using device::HostEvent;
using device::HostStream;

/// What one communicator got in a group.
struct Part {
  Communicator* communicator;
  std::vector<Operation> operations;
  std::vector<HostStream*> streams;  ///< in order of first use; the first one carries the operations out
};

std::vector<Part> by_communicator(std::span<const Target> targets, std::span<const Operation> operations) {
  std::vector<Part> parts;
  for (size_t i = 0; i < targets.size(); ++i) {
    const auto& [communicator, stream] = targets[i];
    auto part = std::find_if(parts.begin(), parts.end(),
                             [&](const Part& p) { return p.communicator == targets[i].communicator; });
    if (part == parts.end()) part = parts.insert(part, {communicator, {}, {}});
    part->operations.push_back(operations[i]);
    if (std::find(part->streams.begin(), part->streams.end(), stream) == part->streams.end()) {
      part->streams.push_back(stream);
    }
  }
  return parts;
}

}  // namespace

Status run_together(std::span<const Target> targets, std::span<const Operation> operations) {
  const bool one_target =
      std::all_of(targets.begin(), targets.end(), [&](const Target& target) { return target == targets[0]; });
  if (one_target) return targets[0].communicator->run(operations, targets[0].stream);
  std::vector<Part> parts = by_communicator(targets, operations);
  if (!parts[0].communicator->config().blocking) {  // each goes on in its own background
    Status worst;
    for (const Part& part : parts) {
      Status status = part.communicator->run(part.operations, nullptr);
      if (worst.ok() || worst.code() == Code::in_progress) worst = std::move(status);
    }
    return worst;
  }
  for (const Part& part : parts) WEIR_TRY(part.communicator->usable());

  // Communicators on one stream (or on none) advance together on its thread, since they may wait for each
  // other.
  while (!parts.empty()) {
    HostStream* const stream = parts[0].streams[0];
    auto rest = std::stable_partition(parts.begin(), parts.end(),
                                      [&](const Part& part) { return part.streams[0] == stream; });
    std::vector<Communicator::Share> shares;
    auto done = std::make_shared<HostEvent>();
    for (auto part = parts.begin(); part != rest; ++part) {
      shares.push_back(part->communicator->queue(std::move(part->operations)));
      for (HostStream* other : part->streams) {  // what is queued there already comes first
        HostEvent before;
        before.record(other);
        if (other != stream) before.hold(stream);
      }
    }
    if (stream == nullptr) {
      WEIR_TRY(Communicator::carry_out(shares));
    } else {
      stream->submit([shares = std::move(shares)]() mutable { return Communicator::carry_out(shares); });
      done->record(stream);
      for (auto part = parts.begin(); part != rest; ++part) {
        for (HostStream* other : part->streams) {
          if (other != stream) done->hold(other);
        }
      }
    }
    parts.erase(parts.begin(), rest);
  }
  return {};
}

}  // namespace weir::core
