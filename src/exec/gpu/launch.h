// SPDX-License-Identifier: Apache-2.0
/// What a launch of the lane kernels gets: plain structs that the host fills and a kernel reads. The kernels
/// are weir_lanes_bandwidth and weir_lanes_packet, in libweir_cuda.so and libweir_hip.so as code for GPUs and
/// in libweir_host_kernels.so for the host (HostKernel); one Launch is the only argument of each.
///
/// Blocks. A grid has lanes * shards blocks of up to kMostThreads threads (with HIP kMostThreadsOfAmd); block
/// b runs lane b / shards. The shards of a lane share its work: passes are independent of each other, so
/// shard s carries out the passes s, s + shards,
/// ... through rings and scratch of its own. All ranks of an operation launch the same number of shards. All
/// blocks of all ranks must be able to run at the same time: they wait for each other.
///
/// Rings. A channel has one ring per shard, in memory that both its ends address: slots and `arrived` in the
/// receiver's memory, `taken` in the sender's; or, between hosts, in memory of each end, between which a
/// proxy carries messages (proxy_rings.h). Before the first launch they are zero. A ring goes on where
/// the last launch left it, so a launch in a graph can be replayed, and it is reset only with both ends.
///
/// Ring protocols. `bandwidth`: a message is its slot, and a number that is written after it. `packet`: every
/// 8 bytes of a message travel with a flag each half, so nobody waits for a number that comes after the data;
/// twice the bytes, for small messages. All ranks of an operation use the same.
///
/// An end that a kernel left before its last message (abort, foreign message) is of no use any more.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/base/types.h"
#include "src/exec/division.h"
#include "src/exec/step.h"

namespace weir::exec::gpu {

enum class RingProtocol : uint8_t { bandwidth, packet };

/// Threads of a block: as many as leave each enough registers.
inline constexpr uint32_t kMostThreads = 512;
inline constexpr uint32_t kMostThreadsOfAmd = 256;

/// What GPUs fetch at once: words of different writers lie in different lines.
inline constexpr size_t kLineBytes = 128;

/// One end of a ring, with addresses of the device that runs the kernel.
struct Port {
  std::byte* slots = nullptr;   ///< `count` of `stride` bytes; receiver's memory, aligned to 16 bytes
  uint64_t* arrived = nullptr;  ///< receiver's memory: messages sent so far, the tag of each slot, its bytes
  uint64_t* taken = nullptr;    ///< sender's memory: messages taken so far
  uint64_t* done = nullptr;     ///< memory of this end alone: messages it has sent or taken so far
  uint32_t count = 0;
  uint32_t stride = 0;  ///< slot_stride()
  uint32_t peer = 0;    ///< the rank at the other end
};

/// Bytes from slot to slot of a ring whose messages have up to `bytes` bytes, a multiple of kGrainBytes.
constexpr size_t slot_stride(RingProtocol protocol, size_t bytes) {
  return protocol == RingProtocol::packet ? 16 + 2 * bytes : bytes;
}
/// Words behind Port::arrived.
constexpr size_t arrived_words(uint32_t slots) { return 1 + 2 * size_t{slots}; }

/// Where a rank has its buffers for an operation; what signals carry in the bandwidth protocol where ranks
/// access each other directly (src/exec/signals.h). Addresses that count on all their GPUs.
struct BuffersOfRank {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
};

/// The steps of one lane: so many from there.
struct LaneSteps {
  uint32_t first = 0;
  uint32_t count = 0;
};

/// What a block says while it runs, one per block, in memory that the host reads at any time. Zero before the
/// first launch; the host may clear it.
struct Note {
  uint64_t waiting = 0;   ///< 1 + the rank that it has waited for longer than usual, said again and again
  uint64_t foreign = 0;   ///< 1 + the rank that sent a message of another operation: the block has left
  uint64_t tag = 0;       ///< of that message
  uint64_t expected = 0;  ///< the tag that it should have had
};

struct Launch {
  // The program, in memory of the device (image.h).
  const Step* steps = nullptr;
  const Place* places = nullptr;
  const LaneSteps* lanes = nullptr;
  uint32_t lane_count = 0;
  uint32_t channels = 0;
  uint32_t shards = 1;
  /// Packet protocol: messages also order other memory than their own. Needed by plans that orders_memory()
  /// names.
  bool ordered = false;

  // The rank, in memory of the device.
  const Port* ports = nullptr;                     ///< [shard * channels + channel]
  const std::byte* const* peer_scratch = nullptr;  ///< by rank; null where the program does not pull
  BuffersOfRank* buffers =
      nullptr;  ///< [block * ranks + rank], as they said; null: ranks do not access others directly
  uint32_t ranks = 1;
  std::byte* scratch = nullptr;     ///< shards * scratch_bytes, on all ranks alike
  uint64_t scratch_bytes = 0;       ///< of a shard
  uint64_t tile_bytes = 0;          ///< of a chunk in scratch
  Note* notes = nullptr;            ///< by block
  const uint64_t* abort = nullptr;  ///< blocks that wait leave when it is not 0

  // The operation, as in Work. Buffers are aligned to their elements.
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  Division division;
  DataType type = DataType::float32;
  RedOp op = RedOp::sum;
  bool scales = false;
  uint32_t element = 4;                  ///< bytes; code for GPUs cannot read the host's table of them
  uint64_t factor = 0;                   ///< the scalar in every element of 8 bytes
  const std::byte* factor_at = nullptr;  ///< not null: the scalar lies there instead
  int64_t divisor = 1;
  uint64_t tag = 0;
};
static_assert(sizeof(Launch) <= 256);

/// The kernels of libweir_host_kernels.so: run block `block` of a grid of `grid` blocks in the calling
/// thread, with `launch` as the one argument. Return when the block is done or has left.
using HostKernel = void (*)(const Launch* launch, uint32_t block, uint32_t grid);

}  // namespace weir::exec::gpu
