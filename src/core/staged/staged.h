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

#include "src/core/call/call_pace.h"
#include "src/core/call/streams.h"
#include "src/core/placement/local_gpu.h"
#include "src/core/staged/staged_launch.h"

namespace weir::core {

class Staged {
 public:
  struct Dependencies {
    Rank rank = 0;
    int ranks = 1;
    device::Gpus* gpus = nullptr;  ///< GPUs of this process; null: it uses none
    device::Gpu* gpu = nullptr;    ///< GPU of the communicator; null: it uses none
    /// True: calls are finished before they return. Ranks of this process that share a GPU may have too few
    /// hardware queues for all their streams, so that one rank's wait blocks the work of another that it
    /// waits for.
    bool waits = false;
    const std::atomic<bool>* aborted = nullptr;
    CallPace* pace = nullptr;  ///< null: calls take as long as they need
    /// Carries out operations on host memory; called by the thread of launches.
    std::function<Status(std::span<const Operation>)> run;
  };
  /// What `dependencies` names outlives the object. It costs nothing before it is used.
  explicit Staged(const Dependencies& dependencies) : dependencies_(dependencies) {}
  /// Stops the thread; then waits for a limited time until all streams have passed the end of their last
  /// call.
  ~Staged();
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;

  /// Returns whether any of the operations is divided into pieces.
  bool divides(std::span<const Operation> operations) const;

  /// Checks the places, and allocates memory and flags for the operations. Errors: invalid_usage if streams
  /// of a GPU and host streams are mixed; those of the driver.
  Result<std::shared_ptr<StagedLaunch>> prepare(std::span<const Operation> operations,
                                                std::span<const StreamPlace> places);
  /// Queues the copies before the first wait. REQUIRES: `submit` is set if the launch calls back. An error
  /// while queuing fails the launch, not this function.
  void begin(const std::shared_ptr<StagedLaunch>& launch);
  /// Queues the end of the next step. Call it until launch.ended. Errors: as begin().
  void follow(StagedLaunch& launch);

  /// The thread that carries out launches.
  device::HostStream& thread() { return *thread_; }
  /// Carries out a launch, on that thread. The last step ends only after launch.finish().
  Status carry_out(const StagedLaunch& launch);
  /// Carries out all submitted launches, then ends the thread. Launches that streams reach later end at once
  /// without any effect. A second call does nothing.
  void stop();
  /// Call it once for each launch that is over, captured or not.
  void leave(const StagedLaunch& launch);
  /// Waits until all launches except those of graphs are over, or until the communicator is aborted.
  void wait_idle() const;
  bool idle() const { return pending_.load(std::memory_order_acquire) == 0; }

 private:
  /// Flags of one stream, and the numbers of calls and steps queued on it.
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
  std::shared_ptr<LaunchState> gate_;
  device::GpuStream idle_ = nullptr;    ///< empty stream, whose state shows whether the GPU has failed
  StagingMemory host_memory_{nullptr};  ///< memory for pieces of a rank on host memory
  std::unordered_map<device::GpuStream, StreamFlags> streams_;
  bool calls_back_ = false;           ///< true: a call of this communicator was captured
  device::GpuStream last_ = nullptr;  ///< first stream of the last call that was not captured
  bool any_ = false;                  ///< true: there was such a call
  std::atomic<int64_t> pending_{0};
};

}  // namespace weir::core
