// SPDX-License-Identifier: Apache-2.0
/// The contents of an execution plan of MSCCL++, and the limits of its executor.
///
/// The executor launches one kernel per GPU, whose thread blocks execute their operations in order. A channel
/// connects two GPUs and carries signals in both directions: the k-th channel of a type from GPU a to b is
/// the other end of the k-th one from b to a. Data does not pass through channels: a `put` writes it into a
/// buffer of the peer at once. Memory channels are for GPUs of one host; a port channel has a thread of the
/// host copy, by RDMA if the peer is on another host, and returns before the copy has been made.
///
/// Source of the format and of the limits: src/core/executor and src/core/include/execution_common.hpp of
/// MSCCL++ 0.9.0 (github.com/microsoft/mscclpp).
/// Tests: tests/algorithms/mscclpp_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/ir/plan.h"

namespace weir::mscclpp {

inline constexpr size_t kMostOperations = 64;        ///< of a thread block
inline constexpr size_t kMostChannels = 16;          ///< of a type and a thread block; also remote buffers
inline constexpr size_t kMostChannelsAtOnce = 8;     ///< of an operation
inline constexpr size_t kMostSemaphoresAtOnce = 16;  ///< of an operation
inline constexpr size_t kMostSources = 10;           ///< of an operation; also destinations
inline constexpr size_t kMostHostGpus = 8;           ///< of each of several hosts
inline constexpr uint64_t kMostBufferBytes = UINT32_MAX;  ///< offsets have 32 bits
inline constexpr uint64_t kAlignment = 16;                ///< of chunks; bytes
/// All blocks of a kernel have to run at the same time, and each one takes a multiprocessor. This is no limit
/// of the format; GPUs that MSCCL++ supports have 80 and more.
inline constexpr size_t kMostBlocks = 64;

enum class ChannelType : uint8_t { memory, port };
inline constexpr std::array kChannelTypes = {ChannelType::memory, ChannelType::port};
inline constexpr size_t index_of(ChannelType type) { return static_cast<size_t>(type); }

enum class OperationKind : uint8_t {
  nop,      ///< the threads of the block wait for each other; nothing else makes them do so, except a barrier
  barrier,  ///< as nop, for several blocks
  put,
  put_with_signal,
  copy,
  reduce,
  reduce_send,
  read_reduce,
  read_reduce_send,
  signal,
  wait,
  flush,  ///< waits until the puts of port channels are complete
  acquire,
  release
};

/// Consecutive chunks of a buffer: "i", "o" or "s" of this GPU, or a remote buffer.
struct ChunkSpan {
  char buffer = 'i';
  int remote = -1;  ///< position among the block's remote buffers of the operation's channel type; -1: own
  uint32_t index = 0;
  uint32_t chunks = 1;
};

struct Operation {
  OperationKind kind = OperationKind::nop;
  ChannelType type = ChannelType::memory;
  std::vector<int> channels = {};  ///< positions among the block's channels of that type
  std::vector<ChunkSpan> sources = {};
  std::vector<ChunkSpan> destinations = {};
  std::vector<int> semaphores = {};  ///< of the GPU
  int barrier = -1;
  int barrier_blocks = 0;
};

struct ThreadBlock {
  std::array<std::vector<int>, 2> channels;  ///< by type; positions in GpuBlocks::peers
  std::array<std::vector<int>, 2> buffers;   ///< by type; positions in GpuBlocks::remote_buffers
  std::vector<Operation> operations;
};

struct RemoteBuffer {
  Rank rank = 0;
  char buffer = 'o';
  std::array<bool, 2> accessed_by{};  ///< by type
};

struct GpuBlocks {
  uint64_t scratch_chunks = 0;
  std::array<std::vector<Rank>, 2> peers;  ///< by type; the peer of each channel
  std::vector<RemoteBuffer> remote_buffers;
  std::vector<int> semaphores;  ///< their initial values
  std::vector<ThreadBlock> blocks;
};

struct ExecutionPlan {
  std::string name;
  ir::Shape shape;
  bool in_place = false;  ///< whether it is for calls whose buffers are one
  /// Sizes of a block, as in ir::Plan.
  uint64_t least_bytes = 0;
  uint64_t most_bytes = UINT64_MAX;
  std::vector<GpuBlocks> gpus;
};

}  // namespace weir::mscclpp
