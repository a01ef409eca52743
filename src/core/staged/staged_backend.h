// SPDX-License-Identifier: Apache-2.0
/// Carries out calls on streams of a GPU through pinned host memory (Staged), and the large collectives of a
/// rank on host memory whose peers do so: all ranks divide them alike.
/// Tests: tests/core/staged_test.cc
#pragma once

#include "src/core/call/backend.h"
#include "src/core/call/lifecycle.h"
#include "src/core/call/operation_queue.h"
#include "src/core/staged/staged.h"

namespace weir::core {

class StagedBackend final : public Backend {
 public:
  /// `queue` and `lifecycle` outlive it, as does what `staged` names.
  StagedBackend(const Staged::Dependencies& staged, OperationQueue& queue, Lifecycle& lifecycle)
      : ranks_(staged.ranks), queue_(queue), lifecycle_(lifecycle), staged_(staged) {}

  /// Takes all operations of a batch or none.
  std::vector<Operation> take(std::vector<Operation>& operations,
                              std::span<const StreamPlace> places) const override;
  Result<std::unique_ptr<Call>> prepare(Batch batch) override;
  Status start(std::span<Call* const> calls) override;
  void abort() override {}  // its thread and its callers look at Lifecycle::aborted()
  bool idle() const override { return staged_.idle(); }
  void wait_idle() override { staged_.wait_idle(); }

 private:
  class StagedCall;

  void submit(std::shared_ptr<StagedLaunch> launch, const OperationQueue::Ticket& ticket);
  Status carry_out(StagedLaunch& launch, const OperationQueue::Ticket& ticket);
  Status end(StagedLaunch& launch, const OperationQueue::Ticket& ticket, Status status);

  const int ranks_;
  OperationQueue& queue_;
  Lifecycle& lifecycle_;
  Staged staged_;
};

}  // namespace weir::core
