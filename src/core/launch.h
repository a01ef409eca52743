/// One call on streams of a GPU: its operations, and the flags by which the streams and the thread that
/// carries them out tell each other how far they are.
///
/// Of a plain call, each stream sets `begun` and goes on when `done` says so. Of a captured one, and of all
/// that follow on the communicator, the driver calls back when the stream comes there: work of a graph and
/// work beside it then keep the order of the stream, whenever the graph is launched.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "src/core/gpu_flags.h"
#include "src/core/operation.h"
#include "src/core/staged_collective.h"

namespace weir::core {

struct Launch;

/// What outlives a communicator if streams or graphs may still come to one of its launches.
struct Gate {
  explicit Gate(device::Gpu& gpu) : flags(gpu) {}

  std::mutex mutex;
  bool open = true;  ///< launches may be submitted
  GpuFlags flags;
  std::vector<std::shared_ptr<Launch>> expected;  ///< called back later; those of graphs stay
};

struct Launch : std::enable_shared_from_this<Launch> {
  /// A stream's part.
  struct Mark {
    device::GpuStream stream = nullptr;
    device::GpuFlag begun;
    device::GpuFlag done;
    device::GpuFlag passed;  ///< the stream has seen that it is done; not of a captured launch
    uint32_t value = 0;      ///< of the flags
    Launch* launch = nullptr;
  };

  std::vector<Operation> operations;
  std::vector<OutOfReach> away;  ///< of each operation
  std::vector<Mark> marks;       ///< none: the call is on host streams
  bool on_gpu = false;           ///< goes through the GPU's engine, not the host's
  bool calls_back = false;
  bool captured = false;
  size_t arrived = 0;  ///< streams that called back, guarded by gate->mutex
  /// For who calls back: hands the launch to the thread that carries it out.
  std::function<void(std::shared_ptr<Launch>)> submit;
  Gate* gate = nullptr;
  Status status;  ///< of who carried it out, before `done` is set

  /// Lets the streams go on.
  void finish() const;
  /// What the driver calls, with a Mark.
  static void arrive(void* mark);
};

}  // namespace weir::core
