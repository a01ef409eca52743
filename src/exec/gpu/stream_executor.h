// SPDX-License-Identifier: Apache-2.0
/// Runs programs as operations of streams: copies, short kernels and waits for flags, which the host queues
/// for all passes of a call (queue_plan.h defines the order). No kernel spins on the GPU, and no host thread
/// is needed while the call runs, so ranks of several processes can share a GPU. Plain copies use no
/// multiprocessor.
///
/// A step `move` becomes: wait until its messages have arrived and its slots are free; per chunk a copy to
/// each destination, or one launch of weir_transfer if the chunk is folded, scaled or divided; set the flags
/// of messages and slots. The values of flags (flag_pages.h) are 0 and constants, so that graphs can be
/// replayed.
///
/// Number of operations of a call: at most 2 per message, 2 per channel and stream, and per pass one for each
/// chunk of each copy destination or kernel.
///
/// Lanes are distributed over several streams, which are forked from the caller's stream and joined to it by
/// events. A captured call is one chain in the order of the queue plan, which is correct for any assignment
/// to hardware queues. Ranks of one process on one GPU need a separate hardware queue each, because an
/// operation that one of them submits first may wait for the other.
/// Tests: tests/exec/stream_executor_test.cc
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "src/device/gpu_kernels.h"
#include "src/device/gpu_sharing.h"
#include "src/exec/gpu/flag_pages.h"
#include "src/exec/gpu/queue_plan.h"
#include "src/exec/gpu/queued.h"

namespace weir::exec::gpu {

class StreamExecutor final : public Queued {
 public:
  /// `gpu`, `flags` and the segments must outlive the executor. `transfer` is weir_transfer.
  struct Dependencies {
    device::Gpu* gpu = nullptr;
    device::GpuKernel transfer = nullptr;
    FlagPages* flags = nullptr;
    GpuSegments segments;
    uint32_t streams = 4;  ///< maximum number of streams, including the caller's
  };
  /// Makes the executor. Errors: those of the driver.
  static Result<std::unique_ptr<StreamExecutor>> create(Dependencies dependencies);
  /// Waits until all queued calls have ended. REQUIRES: no graph runs any more.
  ~StreamExecutor() override;

  Result<std::unique_ptr<Ready>> prepare(const ir::Plan& plan, std::span<const Program> programs,
                                         const RunParameters& way) override;
  /// A part is what StreamCall::submit_part() submits.
  Result<bool> queue_part(Ready& ready, const Work& work, device::GpuStream stream, size_t part) override;
  bool exchanges() const override { return false; }
  Status exchange(std::span<const PeerTransfer> pairs, device::GpuStream stream) override;
  /// From now on a thread sets all flags repeatedly until the executor is destroyed. Calls that run meanwhile
  /// move wrong bytes, so the thread waits until all ranks have aborted, which they do when they see a failed
  /// rank (Look::left); it waits for dead ranks at most a second.
  void abort() override;
  void retire() override;
  Look look() override;

  /// The result of prepare(), shared with outstanding calls.
  struct Prepared {
    Program program;
    QueuePlan plan;
  };

 private:
  struct Own {
    device::GpuStream stream = nullptr;
    device::GpuEvent joins = nullptr;
  };
  /// A call in flight.
  struct Outstanding {
    uint32_t number;
    uint32_t stamp;
    std::shared_ptr<const Prepared> prepared;
  };

  struct Open;

  explicit StreamExecutor(Dependencies dependencies);
  Status begin(Ready& ready, const Work& work, device::GpuStream stream);
  Status end(device::GpuStream stream);
  Status make_streams();
  Result<std::vector<device::GpuStream>> fork(const Prepared& prepared, device::GpuStream stream,
                                              bool captured);
  Status join(const std::vector<device::GpuStream>& streams, device::GpuStream stream);
  uint64_t state_of(const Outstanding& call) const;
  uint32_t value_of(const QueuedChannel& channel, uint32_t slot) const;
  Rank peer_waited_for(const Outstanding& call) const;
  void let_releaser_go_on();
  void release_on();

  const Dependencies dependencies_;
  std::vector<Own> own_;
  std::unique_ptr<Open> open_;  ///< the call of which parts are left; null: none
  device::GpuEvent forks_ = nullptr;
  std::atomic<bool> aborted_{false};
  std::atomic<bool> retired_{false};
  std::atomic<bool> ends_{false};
  std::atomic<bool> releases_{false};  ///< the releaser no longer waits
  std::thread releaser_;               ///< started in advance, as abort() must not fail for want of a thread

  std::mutex mutex_;  // guards the members below
  std::deque<Outstanding> outstanding_;
  uint32_t calls_ = 0;  ///< number of queued calls, without captured ones
  uint64_t seen_ = 0;   ///< state of the oldest call's flags at the last look()
};

}  // namespace weir::exec::gpu
