// SPDX-License-Identifier: Apache-2.0
/// One call on streams of a GPU: its steps, and the flags by which the stream and the thread that carries
/// them out tell each other how far they are.
///
/// All that the call does on the GPU is queued on the first of its streams by the caller, in an order in
/// which it can be done: so nothing is behind a wait that has to come before it, however few hardware queues
/// there are. The stream says which steps it has brought to host memory (`told`), and waits before it takes a
/// step's output away until the host allows that (`may`). Further streams enter before it and leave after it.
///
/// A plain call is submitted to the thread by the caller. A captured one, and all that follow on the
/// communicator, by the driver when the stream comes there: work of a graph and work beside it then keep the
/// order of the stream, whenever the graph is launched.
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

/// Memory that steps go through.
struct Rooms {
  explicit Rooms(device::Gpu* gpu) : slots(gpu), messages(gpu, 1) {}

  size_t bytes() const { return slots.bytes() + messages.bytes(); }

  Staging slots;
  Staging messages;  ///< of sends and receives
};

/// What outlives a communicator if streams or graphs may still come to one of its launches.
struct Gate {
  explicit Gate(device::Gpu& gpu) : flags(gpu), rooms(&gpu), graph_rooms(&gpu) {}

  std::mutex mutex;
  bool open = true;  ///< launches may be submitted
  GpuFlags flags;
  Rooms rooms;                                          ///< of calls, which follow each other on all streams
  Rooms graph_rooms;                                    ///< of captured ones: graphs follow each other
  std::vector<std::shared_ptr<StagedLaunch>> expected;  ///< called back later; those of graphs stay
};

struct StagedLaunch : std::enable_shared_from_this<StagedLaunch> {
  /// Lets through whoever waits for anything, for good.
  static constexpr uint32_t kReleased = 0xffffffff;
  /// A bit of it that no step is allowed with.
  static constexpr uint32_t kFailed = 1u << 2;

  /// A stream.
  struct Mark {
    device::GpuStream stream = nullptr;
    device::GpuFlag entered;  ///< not of the first stream, nor is `left`
    device::GpuFlag left;
    device::GpuFlag passed;  ///< the stream has seen that it is done; not of a captured launch
    uint32_t value = 0;      ///< of `passed`
  };

  std::vector<StagingStep> steps;
  std::vector<Mark> marks;  ///< none: the call is on host streams
  bool on_gpu = false;
  bool calls_back = false;
  bool captured = false;

  device::GpuFlag told;                              ///< steps of the stream that were brought
  std::array<device::GpuFlag, Staging::kSlots> may;  ///< by step of the stream; as may_value()
  uint32_t first = 0;                                ///< the number of the first step among the stream's

  // Of who queues it.
  size_t filled = 0;    ///< steps whose input is queued
  size_t followed = 0;  ///< steps that are queued to their end
  bool ended = false;   ///< all is queued, or something failed

  /// Something could not be queued, and why: `trouble` is written before.
  std::atomic<bool> failed{false};
  Status trouble;

  /// For who calls back: hands the launch to the thread that carries it out.
  std::function<void(std::shared_ptr<StagedLaunch>)> submit;
  Gate* gate = nullptr;
  Status status;  ///< of who carried it out, before finish()

  const device::GpuFlag& may_flag(size_t step) const { return may[(first + step) % may.size()]; }
  /// One of two bits in turn, so that the value before is another one.
  uint32_t may_value(size_t step) const { return 1u << (first + step) / may.size() % 2; }
  void allow(size_t step) const { may_flag(step).host->store(may_value(step), std::memory_order_release); }

  /// The last touch: allows the last step; if something went wrong all, whatever the stream waits for.
  void finish(bool well) const;
  /// What the driver calls, with the launch.
  static void arrive(void* launch);
};

}  // namespace weir::core
