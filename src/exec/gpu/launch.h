// SPDX-License-Identifier: Apache-2.0
/// The argument of the lane kernels: plain structs that the host fills and a kernel reads. The kernels are
/// weir_lanes_bandwidth and weir_lanes_packet, in libweir_cuda.so and libweir_hip.so as GPU code and in
/// libweir_host_kernels.so for the host (HostKernel); their only argument is one Launch.
///
/// Blocks. A grid has lanes * shards blocks of up to kMostThreads threads (with HIP kMostThreadsOfAmd); block
/// b runs lane b / shards. The shards of a lane share its work: passes are independent of each other, so
/// shard s executes the passes s, s + shards, ... with its own rings and scratch. All ranks of an operation
/// launch the same number of shards. All blocks of all ranks must be able to run at the same time, because
/// they wait for each other.
///
/// Rings. A channel has one ring per shard, in memory that both its ends address: slots and `arrived` in the
/// receiver's memory, `taken` in the sender's; or, between hosts, in separate memory of each end, between
/// which a proxy transfers messages (proxy_rings.h). All are zero before the first launch. A launch continues
/// where the last one stopped, so a launch in a graph can be replayed, and a ring must be reset at both ends
/// together.
///
/// Ring protocols. `bandwidth`: a message is the content of its slot, and a number that is written after it.
/// `packet`: every 4 bytes of a message are stored with a flag, so the receiver need not wait for a number
/// that follows the data; this doubles the bytes and is for small messages. All ranks of an operation use the
/// same protocol.
///
/// An end that a kernel left before its last message (abort, foreign message) must not be used any more.
/// Tests: tests/exec/gpu_lane_test.cc, tests/exec/gpu_segment_table_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/base/types.h"
#include "src/exec/division.h"
#include "src/exec/step.h"

namespace weir::exec::gpu {

enum class RingProtocol : uint8_t { bandwidth, packet };

/// Maximum number of threads of a block: more would leave too few registers per thread.
inline constexpr uint32_t kMostThreads = 512;
inline constexpr uint32_t kMostThreadsOfAmd = 256;

/// The size of a GPU's cache line: words of different writers lie in different lines.
inline constexpr size_t kLineBytes = 128;

/// One end of a ring. Addresses are those of the device that runs the kernel.
struct Port {
  std::byte* slots = nullptr;   ///< receiver's memory: `count` slots of `stride` bytes, 16-byte aligned
  uint64_t* arrived = nullptr;  ///< receiver's memory: number of messages sent; tag and bytes of each slot
  uint64_t* taken = nullptr;    ///< sender's memory: number of messages that the receiver has released
  uint64_t* done = nullptr;     ///< this end's private memory: number of messages sent or received
  uint32_t count = 0;
  uint32_t stride = 0;  ///< bytes from slot to slot, of slot_stride()
  uint32_t peer = 0;    ///< the rank at the other end
};

/// Distance in bytes between the slots of a ring for messages of up to `bytes` bytes, a multiple of
/// kGrainBytes.
constexpr size_t slot_stride(RingProtocol protocol, size_t bytes) {
  return protocol == RingProtocol::packet ? 16 + 2 * bytes : bytes;
}
/// Number of words at Port::arrived.
constexpr size_t arrived_words(uint32_t slots) { return 1 + 2 * size_t{slots}; }

/// The addresses of a rank's buffers for an operation, valid on the GPUs of all ranks. Signals contain them
/// in the bandwidth protocol if ranks access each other's buffers directly (src/exec/signals.h).
struct BuffersOfRank {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
};

/// The steps of one lane: position of the first, and their number.
struct LaneSteps {
  uint32_t first = 0;
  uint32_t count = 0;
};

/// The status of a running block, one per block, in memory that the host may read at any time. Zero before
/// the first launch; the host may clear it.
struct Note {
  uint64_t waiting = 0;   ///< 1 + the rank that the block has waited for unusually long; written repeatedly
  uint64_t foreign = 0;   ///< 1 + the rank that sent a message of another operation; the block has then left
  uint64_t tag = 0;       ///< tag of that message
  uint64_t expected = 0;  ///< the tag that was expected
};

struct Launch {
  // The program, in device memory (image.h).
  const Step* steps = nullptr;
  const Place* places = nullptr;
  const LaneSteps* lanes = nullptr;
  uint32_t lane_count = 0;
  uint32_t channels = 0;
  uint32_t shards = 1;
  /// Packet protocol: messages also order accesses to other memory. Needed by plans for which orders_memory()
  /// is true.
  bool ordered = false;

  // The rank, in device memory.
  const Port* ports = nullptr;                     ///< ports, indexed by shard * channels + channel
  const std::byte* const* peer_scratch = nullptr;  ///< scratch of each rank; null: no pulls
  BuffersOfRank* buffers = nullptr;                ///< by block * ranks + rank; null: no direct access
  uint32_t ranks = 1;
  std::byte* scratch = nullptr;     ///< shards * scratch_bytes, the same on all ranks
  uint64_t scratch_bytes = 0;       ///< bytes of scratch per shard
  uint64_t tile_bytes = 0;          ///< bytes of a chunk in scratch
  Note* notes = nullptr;            ///< notes, indexed by block
  const uint64_t* abort = nullptr;  ///< abort word: waiting blocks leave when it is not 0

  // The operation, as in Work. Buffers must be aligned to their elements.
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  Division division;
  DataType type = DataType::float32;
  RedOp op = RedOp::sum;
  bool scales = false;
  uint32_t element = 4;  ///< bytes per element; GPU code cannot read the host's table of sizes
  uint64_t factor = 0;   ///< the scalar, repeated to fill 8 bytes
  const std::byte* factor_at = nullptr;  ///< address of the scalar if not null; `factor` is then ignored
  int64_t divisor = 1;
  uint64_t tag = 0;
};
static_assert(sizeof(Launch) <= 256);

/// The type of the kernels of libweir_host_kernels.so: they run block `block` of a grid of `grid` blocks in
/// the calling thread, with `launch` as the argument, and return when the block is done or has left.
using HostKernel = void (*)(const Launch* launch, uint32_t block, uint32_t grid);

}  // namespace weir::exec::gpu
