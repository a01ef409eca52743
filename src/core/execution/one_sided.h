// SPDX-License-Identifier: Apache-2.0
/// One-sided calls of one communicator rank (ncclPutSignal, ncclSignal, ncclWaitSignal): one at a time, each
/// done before the next begins.
///
/// Windows of this process's ranks are written directly; those of other processes through their listeners, in
/// pieces, whatever their ranks are doing. A put is done when its bytes and its signal have arrived.
///
/// Not thread-safe. A task as in exec/task.h, except that a put blocks for each answer of a listener, whose
/// thread answers at once.
/// Tests: tests/api/one_sided_test.cc, tests/library/one_sided_test.cc
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/core/call/operation.h"
#include "src/core/diagnosis/watchdog.h"
#include "src/core/execution/window.h"
#include "src/exec/task.h"

namespace weir::core {

class OneSidedTask final : public exec::Task {
 public:
  struct Dependencies {
    Rank rank = 0;
    uint64_t uid = 0;
    WindowRegistry* windows = nullptr;  ///< this process's windows
    const std::vector<PeerAddress>* peers = nullptr;
    int64_t answer_ms = 5000;   ///< time limit for a listener's answer; ms
    Credentials credentials{};  ///< of the job, for listeners
  };
  explicit OneSidedTask(const Dependencies& dependencies) : dependencies_(dependencies) {}
  /// Stops waiting for listeners once `abort` is true. `abort` outlives the task.
  void watch(const std::atomic<bool>& abort) { abort_ = &abort; }

  /// Begins an operation, whose memory stays valid until it is done. REQUIRES: the last one is done;
  /// is_one_sided(operation).
  void start(const Operation& operation);

  exec::Progress advance() override;
  Status serve(Rank&) override { return {}; }
  Status error() const override { return error_; }
  Rank waiting_for() const override { return waiting_for_; }

 private:
  exec::Progress wait(const WaitOp& operation);
  exec::Progress deliver(const PutOp& operation);
  exec::Progress deliver(const SignalOp& operation);
  exec::Progress carry_out(Rank peer, const Delivery& delivery);
  bool is_local(Rank peer) const;
  Delivered send(Rank peer, const Delivery& delivery) const;

  const Dependencies dependencies_;
  const std::atomic<bool>* abort_ = nullptr;
  const Operation* operation_ = nullptr;
  std::shared_ptr<WindowSpace> own_;  ///< this rank's windows, during a wait
  size_t done_ = 0;                   ///< bytes put, or signals consumed, so far
  Status error_;
  Rank waiting_for_ = 0;
};

}  // namespace weir::core
