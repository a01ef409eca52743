// SPDX-License-Identifier: Apache-2.0

#include "src/core/communicator/group_launch.h"

#include <algorithm>
#include <array>
#include <memory>
#include <ranges>
#include <vector>

#include "src/base/exception.h"
#include "src/core/communicator/communicator.h"
#include "src/core/communicator/resources.h"

namespace weir::core {
namespace {

/// What one communicator got.
struct Part {
  Communicator* communicator;
  std::vector<Operation> operations;
  std::vector<StreamPlace> places;  ///< in order of first use; the first one carries the operations out
};

/// Calls of one kind of back end, of all communicators.
struct Row {
  std::vector<Backend*> backends;
  std::vector<Backend::Batch> batches;  ///< one for each of `backends`
  std::vector<std::unique_ptr<Backend::Call>> calls;
};
using Rows = std::array<Row, Resources::kBackends>;

/// Each back end takes its operations of each communicator.
Rows rows_of(std::vector<Part>& parts) {
  Rows rows;
  size_t batches = 0;
  for (Part& part : parts) {
    const auto backends = part.communicator->resources()->backends();
    for (size_t kind = 0; kind < backends.size(); ++kind) {
      if (backends[kind] == nullptr || part.operations.empty()) continue;
      std::vector<Operation> taken = backends[kind]->take(part.operations, part.places);
      if (taken.empty()) continue;
      rows[kind].backends.push_back(backends[kind]);
      rows[kind].batches.push_back({std::move(taken), part.places, true});
      ++batches;
    }
  }
  for (Row& row : rows)
    for (Backend::Batch& batch : row.batches) batch.alone = batches == 1;
  return rows;
}

Status prepare(Rows& rows) {
  for (Row& row : rows) {
    for (size_t i = 0; i < row.backends.size(); ++i) {
      auto call = row.backends[i]->prepare(std::move(row.batches[i]));
      WEIR_TRY(call.status());
      row.calls.push_back(std::move(*call));
    }
  }
  return {};
}

/// All streams of GPUs come to the beginning of the group before any of them waits for its end: communicators
/// may share a stream. Back ends on host memory, which come last, may carry their calls out at once.
/// After an error only the calls of the kinds before are left, which have to be finished.
Status start(Rows& rows) {
  Status status;
  for (Row& row : rows) {
    if (row.calls.empty()) continue;
    std::vector<Backend::Call*> calls;
    for (const auto& call : row.calls) calls.push_back(call.get());
    if (status.ok()) status = row.backends[0]->start(calls);
    if (!status.ok()) row.calls.clear();
  }
  return status;
}

/// In rounds: what one call waits for may be what another one brings in its next step.
void advance(const Rows& rows) {
  for (bool more = true; more;) {
    more = false;
    for (const Row& row : rows)
      for (const auto& call : row.calls) more |= call->advance();
  }
}

/// The first error; in_progress if that is the worst there is. Kernels are left last: others may wait for
/// what goes beside them.
Status finish(const Rows& rows) {
  Status worst;
  for (const Row& row : rows | std::views::reverse) {
    for (const auto& call : row.calls) {
      Status status = call->finish();
      if (!status.ok() && (worst.ok() || worst.code() == Code::in_progress)) worst = std::move(status);
    }
  }
  return worst;
}

Status run_steps(std::vector<Part>& parts) {
  for (const Part& part : parts) WEIR_TRY(part.communicator->lifecycle().usable());
  Rows rows = rows_of(parts);
  WEIR_TRY(prepare(rows));
  const Status started = start(rows);
  advance(rows);
  Status finished = finish(rows);
  return started.ok() ? finished : started;
}

/// What an exception leaves of calls can be neither finished nor repeated: their communicators are aborted.
Status run(std::vector<Part> parts) {
  return guarded([&] { return run_steps(parts); },
                 [&](const Status& why) {
                   for (const Part& part : parts) part.communicator->abort(why);
                 });
}

}  // namespace

Status launch(Communicator& communicator, std::span<const Operation> operations, const StreamPlace& place) {
  return run({Part{&communicator, {operations.begin(), operations.end()}, {place}}});
}

Status launch_group(std::span<const Target> targets, std::span<const Operation> operations) {
  const bool one_target =
      std::ranges::all_of(targets, [&](const Target& target) { return target == targets[0]; });
  if (one_target) return targets[0].communicator->run(operations, targets[0].place);
  std::vector<Part> parts;
  for (size_t i = 0; i < targets.size(); ++i) {
    const auto& [communicator, place] = targets[i];
    auto part = std::ranges::find(parts, communicator, &Part::communicator);
    if (part == parts.end()) part = parts.insert(part, {communicator, {}, {}});
    part->operations.push_back(operations[i]);
    if (std::ranges::find(part->places, place) == part->places.end()) part->places.push_back(place);
  }
  return run(std::move(parts));
}

}  // namespace weir::core
