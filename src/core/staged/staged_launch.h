// SPDX-License-Identifier: Apache-2.0
/// One staged call on streams of a GPU: its steps, and the flags by which the stream and the communicator's
/// thread order each other's work.
///
/// The caller queues all GPU work of the call on the first of its streams, in an order that cannot deadlock
/// however few hardware queues there are: no operation is queued behind a wait that depends on it. The stream
/// reports the steps whose input it has copied to host memory (`told`), and waits for the host's permission
/// (`may`) before it copies a step's output back. Further streams are ordered before its begin and after its
/// end.
///
/// The caller submits a plain call to the thread. Once a call was captured, the driver submits it and all
/// later calls of the communicator when the stream reaches them: so work inside and outside graphs keeps the
/// stream's order, whenever the graph is launched.
/// Tests: tests/core/staged_launch_test.cc
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "src/core/staged/gpu_flags.h"
#include "src/core/staged/staging_steps.h"

namespace weir::core {

struct StagedLaunch;

/// Pinned memory for the data of steps.
struct StagingMemory {
  explicit StagingMemory(device::Gpu* gpu) : slots(gpu), messages(gpu, 1) {}

  size_t bytes() const { return slots.bytes() + messages.bytes(); }

  Staging slots;
  Staging messages;  ///< memory for sends and receives
};

/// The state that outlives a communicator if streams or graphs may still run one of its launches.
struct LaunchState {
  explicit LaunchState(device::Gpu& gpu) : flags(gpu), memory(&gpu), graph_memory(&gpu) {}

  std::mutex mutex;
  bool open = true;  ///< true: launches may be submitted
  GpuFlags flags;
  StagingMemory memory;                                 ///< memory of plain calls, which run in order
  StagingMemory graph_memory;                           ///< memory of captured calls, as graphs run in order
  std::vector<std::shared_ptr<StagedLaunch>> expected;  ///< called back by the driver; those of graphs stay
};

struct StagedLaunch : std::enable_shared_from_this<StagedLaunch> {
  /// Value of a flag that releases all its waiters for ever.
  static constexpr uint32_t kReleased = 0xffffffff;
  /// A bit of kReleased that may_value() never uses.
  static constexpr uint32_t kFailed = 1u << 2;

  /// A stream of the call, with its flags.
  struct Mark {
    device::GpuStream stream = nullptr;
    device::GpuFlag entered;  ///< unused for the first stream, as is `left`
    device::GpuFlag left;
    device::GpuFlag passed;  ///< the stream has passed the end of the launch; unused if captured
    uint32_t value = 0;      ///< value of `passed` at the end
  };

  std::vector<Operation> operations;  ///< the call's; only where a pace is kept
  std::vector<StagingStep> steps;
  std::vector<Mark> marks;  ///< empty: the call is on host streams
  bool on_gpu = false;
  bool calls_back = false;
  bool captured = false;

  device::GpuFlag told;                              ///< number of the stream's steps whose input was copied
  std::array<device::GpuFlag, Staging::kSlots> may;  ///< permissions by the stream's steps: may_value()
  uint32_t first = 0;                                ///< number of the first step, among the stream's steps

  // Used by the thread that queues the launch.
  size_t filled = 0;    ///< number of steps whose input copies are queued
  size_t followed = 0;  ///< number of steps that are queued to their end
  bool ended = false;   ///< all steps are queued, or queuing failed

  /// Set if queuing failed; `trouble`, the reason, is written before.
  std::atomic<bool> failed{false};
  Status trouble;

  /// Called by arrive(): submits the launch to the thread that carries it out.
  std::function<void(std::shared_ptr<StagedLaunch>)> submit;
  LaunchState* gate = nullptr;
  Status status;  ///< result; written by the thread that carries it out, before finish()

  const device::GpuFlag& may_flag(size_t step) const { return may[(first + step) % may.size()]; }
  /// Alternates between two bits, so that consecutive values of a flag differ.
  uint32_t may_value(size_t step) const { return 1u << (first + step) / may.size() % 2; }
  void allow(size_t step) const { may_flag(step).host->store(may_value(step), std::memory_order_release); }

  /// The thread's last access: allows the last step, or, after an error (`well` is false), releases all
  /// waits.
  void finish(bool well) const;
  /// The driver's callback; its argument is the launch.
  static void arrive(void* launch);
};

}  // namespace weir::core
