// SPDX-License-Identifier: Apache-2.0
/// Staging: runs a communicator's calls on GPU memory with plans for host memory. Data is copied into pinned
/// memory, the call is carried out there, and results are copied back, in the order of the callers' streams.
/// This uses no multiprocessor, and no stream spins.
///
/// The caller's thread passes a call through prepare(), begin() and follow(), which queue its copies on the
/// caller's stream; for a group over several communicators, all begin first, and then follow in rotation.
/// Submitted launches are carried out one after the other on the communicator's own thread. prepare()
/// allocates all memory: from begin() on nothing waits for the driver.
///
/// If any rank of the communicator uses a GPU, large collectives are divided into pieces (segmentation.h),
/// also on ranks on host memory, which carry them out on the thread alone.
/// Tests: tests/core/staged_test.cc
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "src/core/call/streams.h"
#include "src/core/placement/local_gpu.h"
#include "src/core/staged/staged_launch.h"

namespace weir::core {

class Staged {
 public:
  struct Dependencies {
    Rank rank = 0;
    int ranks = 1;
    device::Gpus* gpus = nullptr;  ///< null: this process uses none
    device::Gpu* gpu = nullptr;    ///< of the communicator; null: as `gpus`
    /// Calls end before they return: ranks of this process on one GPU may have too few hardware queues for
    /// all their streams, and what one of them waits for may be queued behind it by another.
    bool waits = false;
    const std::atomic<bool>* aborted = nullptr;
    /// Carries operations on host memory out, on the thread of launches.
    std::function<Status(std::span<const Operation>)> run;
  };
  /// What `parts` names outlives it. Costs nothing before it is used.
  explicit Staged(const Dependencies& dependencies) : dependencies_(dependencies) {}
  /// After stop(). Waits a while for streams that have not seen yet that their last call is done.
  ~Staged();
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;

  /// Whether any of the operations is divided.
  bool divides(std::span<const Operation> operations) const;

  /// Checks places, and makes memory and flags for the operations. Errors: invalid_usage where the places do
  /// not go together; those of the driver.
  Result<std::shared_ptr<StagedLaunch>> prepare(std::span<const Operation> operations,
                                                std::span<const StreamPlace> places);
  /// Queues what comes before the first wait. A launch that calls back has `submit` set before. What cannot
  /// be queued fails the launch, not the call.
  void begin(const std::shared_ptr<StagedLaunch>& launch);
  /// Queues the next step's end; until launch.ended. Likewise.
  void follow(StagedLaunch& launch);

  /// The thread that carries launches out.
  device::HostStream& thread() { return *thread_; }
  /// On that thread. The last step ends only after launch.finish().
  Status carry_out(const StagedLaunch& launch);
  /// Carries out what was submitted, then ends the thread; what streams come to later is done at once and
  /// does nothing. Again is nothing.
  void stop();
  /// Of a launch that is over, captured or not.
  void leave(const StagedLaunch& launch);
  /// Waits until all that was begun, but for graphs, is over, or until the communicator is aborted.
  void wait_idle() const;
  bool idle() const { return pending_.load(std::memory_order_acquire) == 0; }

 private:
  /// Flags of one stream, and what it was given so far.
  struct StreamFlags {
    device::GpuFlag told;
    std::array<device::GpuFlag, Staging::kSlots> may;
    device::GpuFlag entered;
    device::GpuFlag left;
    device::GpuFlag passed;
    uint32_t calls = 0;
    uint32_t steps = 0;
  };

  Status check(std::span<const Operation> operations, std::span<const StreamPlace> places) const;
  Status make_gate();
  Status lay_out(StagedLaunch& launch, std::span<const Operation> operations);
  Status take_marks(StagedLaunch& launch, std::span<const StreamPlace> places);
  Result<StreamFlags> take_flags();
  bool is_away(const void* address) const;
  void fail_if(StagedLaunch& launch, Status status);
  Status queue_entry(const std::shared_ptr<StagedLaunch>& launch);
  Status queue_step(StagedLaunch& launch);
  Status queue_exit(const StagedLaunch& launch);
  Status fill(StagedLaunch& launch);
  Status copy(std::span<const StagingStep::Copy> copies, device::GpuStream stream);
  void wait_until_allowed(const StagedLaunch& launch, size_t step) const;
  Status wait_until_told(const StagedLaunch& launch, size_t step) const;
  void settle_streams();

  const Dependencies dependencies_;
  std::unique_ptr<device::HostStream> thread_;
  std::shared_ptr<Gate> gate_;
  device::GpuStream idle_ = nullptr;  ///< never used: tells whether the GPU has failed
  Rooms host_rooms_{nullptr};         ///< of pieces of a rank on host memory
  std::unordered_map<device::GpuStream, StreamFlags> streams_;
  bool calls_back_ = false;           ///< something was captured
  device::GpuStream last_ = nullptr;  ///< the first stream of the last call that was not captured
  bool any_ = false;                  ///< there was one
  std::atomic<int64_t> pending_{0};
};

}  // namespace weir::core
