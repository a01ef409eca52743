// SPDX-License-Identifier: Apache-2.0
/// The interface of executors, which queue programs on streams of a GPU, as a communicator uses them.
///
/// Segments. Each rank has a segment: device memory that the GPUs of all ranks of its host can address. The
/// executor defines its layout, which depends only on the number of ranks and the size and is the same on all
/// ranks. A segment is zero before the first call is queued and must live until all calls are done; its
/// creator owns it.
///
/// Order. The calls of a communicator are prepared in the same order on all ranks and run in the same order
/// on all GPUs, one after the other; replays of graphs are part of this order.
///
/// Threads: prepare() and queue_part() may be called by one thread at a time; abort() and look() by any
/// thread at any time.
///
/// Tests: tests/exec/stream_executor_test.cc, tests/exec/gpu_segment_table_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "algorithms/ir/plan.h"
#include "src/base/status.h"
#include "src/device/gpu.h"
#include "src/exec/gpu/launch.h"
#include "src/exec/program.h"
#include "src/exec/work.h"

namespace weir::exec::gpu {

/// The segments of a communicator by their addresses on one rank's GPU. Plain data.
struct GpuSegments {
  Rank rank = 0;
  std::vector<std::byte*>
      at;            ///< address of each rank's segment, aligned to 256 bytes; null: on another host
  size_t bytes = 0;  ///< size of each segment
  std::vector<uint32_t> local_ranks = {};  ///< each rank's number on its host; empty: one host

  bool has_several_hosts() const { return !local_ranks.empty(); }
  bool is_near(Rank rank) const { return at[static_cast<size_t>(rank)] != nullptr; }
  std::byte* own() const { return at[static_cast<size_t>(this->rank)]; }
};

/// The parameters with which a plan runs; the same on all ranks.
struct RunParameters {
  RingProtocol protocol = RingProtocol::bandwidth;
  uint32_t shards = 1;  ///< maximum number of shards; resources may limit it further
};

/// A plan that an executor has prepared for its rank. It must live as long as a graph may run it.
class Ready {
 public:
  virtual ~Ready() = default;
  /// Capacity for a chunk in a pass, in bytes; the same on all ranks.
  size_t tile_bytes = 0;
  /// Maximum number of shards; with fewer passes than shards, some shards are idle.
  uint32_t shards = 1;
};

/// A send to a rank, or a receive from it, in memory that the GPU addresses.
struct PeerTransfer {
  Rank peer = 0;
  bool sends = false;
  std::byte* data = nullptr;  ///< the data; only read if it is sent
  size_t bytes = 0;
};

/// The state of queued work as an executor observes it.
struct Look {
  Rank waiting_for = -1;     ///< a rank whose message or slot was waited for unusually long; -1: none
  Rank foreign = -1;         ///< a rank that sent a message of another operation; -1: none
  uint64_t foreign_tag = 0;  ///< tag of that message
  uint64_t expected = 0;     ///< the tag that was expected; 0: unknown
  Rank left = -1;            ///< a rank that has failed, so that results are invalid; -1: none
};

class Queued {
 public:
  virtual ~Queued() = default;

  /// Prepares a plan. `programs` are those of all ranks, by rank, and are not needed afterwards. Does not
  /// wait for queued work, and queues nothing on captured streams. Errors: invalid_argument if the plan does
  /// not fit the segments (then on all ranks); those of the driver.
  virtual Result<std::unique_ptr<Ready>> prepare(const ir::Plan& plan, std::span<const Program> programs,
                                                 const RunParameters& way) = 0;
  /// Queues part `part` of a call on a stream, which may be captured, and returns whether parts are left.
  /// Calls of this rank must run in the order in which they are queued, each with all of its parts in order.
  /// The GPU must be able to address the buffers. Work::tile_bytes and the tag must be the same on all ranks.
  /// Allocates no GPU memory. Drivers block a call when about a thousand operations are pending on a stream;
  /// so a thread that has several ranks must queue a part of each in turn. No operation of a part waits for a
  /// later part of another rank; one that waits for the same part is the last of its part, so a thread that
  /// queues in turn is never blocked for ever. Errors: invalid_argument for
  /// buffers that are not aligned to elements; those of the driver. REQUIRES: `ready` comes from prepare() of
  /// this executor; it and `work` live until the last part is queued.
  virtual Result<bool> queue_part(Ready& ready, const Work& work, device::GpuStream stream, size_t part) = 0;
  /// Queues all parts of a call.
  Status queue(Ready& ready, const Work& work, device::GpuStream stream) {
    bool more = true;
    for (size_t part = 0; more; ++part) {
      auto queued = queue_part(ready, work, stream, part);
      WEIR_TRY(queued.status());
      more = *queued;
    }
    return {};
  }
  /// Whether exchange() is supported; the same on all ranks.
  virtual bool exchanges() const = 0;
  /// Queues the sends and receives of one group. Each of them waits only for earlier ones to (or from) the
  /// same peer. Both ends of a pair must list them in the same order; otherwise the groups of two ranks may
  /// differ. Messages contain their size (pair_tag). Otherwise as queue().
  virtual Status exchange(std::span<const PeerTransfer> pairs, device::GpuStream stream) = 0;
  /// Makes all queued and later calls end soon, without results. Does not wait.
  virtual void abort() = 0;
  /// Call when all ranks' calls are done and no more will follow; later replays of graphs end without
  /// results.
  virtual void retire() = 0;
  /// What was observed since the last call of look().
  virtual Look look() = 0;
};

}  // namespace weir::exec::gpu
