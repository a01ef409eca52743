// SPDX-License-Identifier: Apache-2.0
/// Programs that are queued on streams of a GPU, whatever carries them out there: what a communicator sees of
/// an executor.
///
/// Segments. Each rank has a segment, a piece of device memory that the GPUs of all ranks of its host
/// address. How it is laid out is the executor's, the same on all ranks, a function of the number of ranks
/// and the size. It is zero before anybody queues, stays until all are done, and belongs to whoever made it.
///
/// Order. The calls of a communicator are prepared in the same order on all ranks and run in the same order
/// on all GPUs, one after the other; replays of graphs take their turn in it.
///
/// Threads: one at a time for prepare() and queue(); abort() and look() at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "algorithms/ir/plan.h"
#include "src/device/gpu.h"
#include "src/exec/gpu/launch.h"
#include "src/exec/program.h"
#include "src/exec/work.h"
#include "weir/status.h"

namespace weir::exec::gpu {

/// The segments of a communicator as one rank's GPU names them. Plain data.
struct GpuSegments {
  Rank rank = 0;
  std::vector<std::byte*> at;              ///< by rank, aligned to 256 bytes; null: on another host
  size_t bytes = 0;                        ///< of each
  std::vector<uint32_t> local_ranks = {};  ///< by rank: its number on its host; empty: all are on one

  bool has_several_hosts() const { return !local_ranks.empty(); }
  bool is_near(Rank rank) const { return at[static_cast<size_t>(rank)] != nullptr; }
  std::byte* own() const { return at[static_cast<size_t>(this->rank)]; }
};

/// How a plan is to run; the same on all ranks.
struct Way {
  RingProtocol protocol = RingProtocol::bandwidth;
  uint32_t shards = 1;  ///< at most; there may be room for fewer
};

/// A plan that an executor has readied for its rank. Stays for as long as a graph may run it.
class Ready {
 public:
  virtual ~Ready() = default;
  /// The most bytes of a chunk in a pass that there is room for; the same on all ranks.
  size_t tile_bytes = 0;
  /// In which the work may be cut: passes below this many leave some idle.
  uint32_t shards = 1;
};

/// A send to a rank, or a receive from it, in memory that the GPU addresses.
struct Pair {
  Rank peer = 0;
  bool sends = false;
  std::byte* data = nullptr;  ///< what is sent is only read
  size_t bytes = 0;
};

/// What an executor sees of the work that is under way.
struct Look {
  Rank waiting_for = -1;     ///< a rank whose message or slot something has waited for long; -1: nobody
  Rank foreign = -1;         ///< a rank that sent a message of another operation; -1: nobody did
  uint64_t foreign_tag = 0;  ///< of that message
  uint64_t expected = 0;     ///< the tag that it should have had; 0: not known
  Rank left = -1;            ///< a rank that has given up, so that results are worth nothing; -1: nobody has
};

class Queued {
 public:
  virtual ~Queued() = default;

  /// Readies a plan. `programs` are those of all ranks, by rank, and need not stay. Does not wait for
  /// anything that is queued, and queues nothing on streams that are captured. Errors: invalid_argument where
  /// the plan does not fit the segments (on all ranks alike); those of the driver.
  virtual Result<std::unique_ptr<Ready>> prepare(const ir::Plan& plan, std::span<const Program> programs,
                                                 const Way& way) = 0;
  /// Queues a call on a stream that no other call of this rank overtakes; a captured one included. Buffers
  /// are such as the GPU addresses. Work::tile_bytes is the same on all ranks, as is the tag. Does not wait,
  /// allocates no memory of the GPU. Errors: invalid_argument for buffers that are not aligned to elements;
  /// those of the driver. `ready` is one of this executor's prepare().
  virtual Status queue(Ready& ready, const Work& work, device::GpuStream stream) = 0;
  /// Whether exchange() can be called; the same on all ranks.
  virtual bool exchanges() const = 0;
  /// Queues the sends and receives of one group, none of which waits for another one of this rank but those
  /// before it to (or from) the same peer. Both ends of a pair have them in the same order; beyond that
  /// groups of two ranks need not be alike. Messages say their bytes (pair_tag). Otherwise as queue().
  virtual Status exchange(std::span<const Pair> pairs, device::GpuStream stream) = 0;
  /// Ends soon whatever is queued or comes later, without results. Does not wait.
  virtual void abort() = 0;
  /// No rank has any calls left, or will make any, but graphs may still come: they end, without results.
  virtual void retire() = 0;
  /// What has been seen since the last call of look().
  virtual Look look() = 0;
};

}  // namespace weir::exec::gpu
