// SPDX-License-Identifier: Apache-2.0
/// Puts, signals and waits for signals of one communicator rank (ncclPutSignal and its like): one at a time,
/// each done before the next begins.
///
/// Memory of ranks of this process is written directly; that of others through the listeners of their
/// processes, in pieces, whatever those ranks do. A put is done when its bytes and its signal have arrived.
///
/// Not thread-safe. A task in the sense of exec/task.h; a put waits for each answer of a listener, which its
/// own thread gives at once.
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

/// What a put, a signal or a wait has beside its Operation.
struct OneSidedCall {
  uint32_t window = 0;
  uint64_t offset = 0;  ///< bytes
  int32_t index = 0;    ///< of the signal
  int32_t context = 0;
  struct Awaited {
    SignalKey key;
    uint64_t count = 0;
  };
  std::vector<Awaited> awaited;  ///< of a wait
};

class OneSidedTask final : public exec::Task {
 public:
  struct Dependencies {
    Rank rank = 0;
    uint64_t uid = 0;
    WindowRegistry* windows = nullptr;  ///< of this process
    const std::vector<PeerAddress>* peers = nullptr;
    int64_t answer_ms = 5000;  ///< for a listener
  };
  explicit OneSidedTask(const Dependencies& dependencies) : dependencies_(dependencies) {}
  /// Waits for no listener any more once this is true. Outlives it.
  void watch(const std::atomic<bool>& abort) { abort_ = &abort; }

  /// REQUIRES: the last one is done; operation.side is not none. What it names lives until it is done.
  void start(const Operation& operation);

  exec::Progress advance() override;
  Status serve(Rank&) override { return {}; }
  Status error() const override { return error_; }
  Rank waiting_for() const override { return waiting_for_; }

 private:
  exec::Progress wait();
  exec::Progress deliver();
  bool is_local(Rank peer) const;
  Delivered send(Rank peer, const Delivery& delivery) const;

  const Dependencies dependencies_;
  const std::atomic<bool>* abort_ = nullptr;
  const Operation* operation_ = nullptr;
  std::shared_ptr<WindowSpace> own_;  ///< of a wait
  size_t done_ = 0;                   ///< bytes of a put, or waits
  Status error_;
  Rank waiting_for_ = 0;
};

}  // namespace weir::core
