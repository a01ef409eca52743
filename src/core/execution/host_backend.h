// SPDX-License-Identifier: Apache-2.0
/// Carries operations out on host memory, on the thread of a host stream, of the caller, or of the background
/// of a communicator that is not blocking.
///
/// Calls of several communicators on one stream advance together on its thread, since their ranks may wait
/// for each other.
/// Tests: tests/conform/collectives_test.cc, tests/core/admission_test.cc
#pragma once

#include "src/core/call/backend.h"
#include "src/core/call/call_pace.h"
#include "src/core/call/lifecycle.h"
#include "src/core/call/operation_queue.h"
#include "src/core/execution/execution.h"

namespace weir::core {

class HostBackend final : public Backend {
 public:
  /// What it works with; all outlive it.
  struct Dependencies {
    int ranks = 1;
    Execution* execution = nullptr;
    OperationQueue* queue = nullptr;
    Lifecycle* lifecycle = nullptr;
    CallPace* pace = nullptr;  ///< null: calls take as long as they need
  };
  explicit HostBackend(const Dependencies& dependencies) : dependencies_(dependencies) {}

  /// Takes everything that is left.
  std::vector<Operation> take(std::vector<Operation>& operations,
                              std::span<const StreamPlace> places) const override;
  Result<std::unique_ptr<Call>> prepare(Batch batch) override;
  Status start(std::span<Call* const> calls) override;
  void abort() override { dependencies_.execution->abort(); }
  bool idle() const override { return dependencies_.queue->idle(); }
  void wait_idle() override { dependencies_.queue->wait_idle(); }

 private:
  class HostCall;
  struct Share;

  static void start_on(device::HostStream* stream, std::span<HostCall* const> calls);
  static Status carry_out(std::span<Share> shares, bool returned);

  const Dependencies dependencies_;
};

}  // namespace weir::core
