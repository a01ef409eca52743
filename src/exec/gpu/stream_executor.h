// SPDX-License-Identifier: Apache-2.0
/// Programs as operations of streams: copies, short kernels and waits for flags, queued by the host for all
/// passes of a call (queue_plan.h says in which order). Nothing spins on the GPU and no host thread is needed
/// while it runs, so ranks of several processes can share a GPU; plain moves take no multiprocessor.
///
/// A step `move` becomes: wait until its messages are there and its slots are free; per chunk a copy to each
/// destination, or, where something is folded, scaled or divided, one launch of weir_transfer; set the flags
/// of messages and of slots. The flags (flag_pages.h) are 0 and constants, so that graphs can be replayed.
///
/// Operations of a call: at most 2 for each message, 2 for each channel and stream, and what moves data: one
/// for each chunk of a copy's destination or of a kernel, in each pass.
///
/// Lanes go to several streams, forked from the caller's and joined to it by events. A captured call is one
/// chain in the order of the queue plan, which is right however the driver deals it to hardware queues.
/// Ranks of one process on one GPU need a hardware queue each: what one of them submits first may wait for
/// the other.
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
  /// `gpu` and `flags` outlive the executor, as do the segments. `transfer` is weir_transfer.
  struct Dependencies {
    device::Gpu* gpu = nullptr;
    device::GpuKernel transfer = nullptr;
    FlagPages* flags = nullptr;
    GpuSegments segments;
    uint32_t streams = 4;  ///< at most, the caller's among them
  };
  /// Errors: those of the driver.
  static Result<std::unique_ptr<StreamExecutor>> create(Dependencies dependencies);
  /// Waits until what was queued has ended. REQUIRES: no graph runs any more.
  ~StreamExecutor() override;

  Result<std::unique_ptr<Ready>> prepare(const ir::Plan& plan, std::span<const Program> programs,
                                         const Way& way) override;
  Status queue(Ready& ready, const Work& work, device::GpuStream stream) override;
  bool exchanges() const override { return false; }
  Status exchange(std::span<const Pair> pairs, device::GpuStream stream) override;
  /// Sets all flags, on a thread of its own, again and again until the executor goes. What runs meanwhile
  /// moves wrong bytes, so that begins when all ranks have aborted, which they do when they see that one has
  /// (Look::left); but for ranks that are dead, after a second.
  void abort() override;
  void retire() override;
  Look look() override;

  /// What prepare() made, for as long as a call may be looked at.
  struct Prepared {
    Program program;
    QueuePlan plan;
  };

 private:
  struct Own {
    device::GpuStream stream = nullptr;
    device::GpuEvent joins = nullptr;
  };
  /// A call that is under way.
  struct Outstanding {
    uint32_t number;
    uint32_t stamp;
    std::shared_ptr<const Prepared> prepared;
  };

  explicit StreamExecutor(Dependencies dependencies) : dependencies_(std::move(dependencies)) {}
  Status make_streams();
  Result<std::vector<device::GpuStream>> fork(const Prepared& prepared, device::GpuStream stream,
                                              bool captured);
  Status join(const std::vector<device::GpuStream>& streams, device::GpuStream stream);
  uint64_t state_of(const Outstanding& call) const;
  uint32_t value_of(const QueuedChannel& channel, uint32_t slot) const;
  Rank peer_waited_for(const Outstanding& call) const;
  void release_on();

  const Dependencies dependencies_;
  std::vector<Own> own_;
  device::GpuEvent forks_ = nullptr;
  std::atomic<bool> aborted_{false};
  std::atomic<bool> retired_{false};
  std::atomic<bool> ends_{false};
  std::thread releaser_;

  std::mutex mutex_;  // what follows
  std::deque<Outstanding> outstanding_;
  uint32_t calls_ = 0;  ///< that were queued, but for graphs
  uint64_t seen_ = 0;   ///< by the last look: flags of the oldest call
};

}  // namespace weir::exec::gpu
