// SPDX-License-Identifier: Apache-2.0
/// The sends and receives of one group as a launch: weir_pairs. A lane is one ring of one direction between
/// two ranks; it takes the messages of that direction in order, and depends on no other lane of its rank. A
/// block serves several lanes, switching between them as their rings allow, so any number of blocks is
/// sufficient.
///
/// A message is divided into pieces; piece p goes through ring p % rings. Both ends compute the same division
/// from its size. Every piece has the message's tag. An empty message is sent as one empty piece.
///
/// The table of directions and messages is in the argument if it fits; otherwise earlier launches
/// (PairsLaunch::store) have written it to memory.
/// Tests: tests/exec/gpu_pairs_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/exec/gpu/launch.h"

namespace weir::exec::gpu {

/// A send or a receive.
struct PairMessage {
  std::byte* data = nullptr;  ///< the data; only read if it is sent
  uint64_t bytes = 0;
  uint32_t piece = 0;  ///< bytes of each piece except the last
  uint32_t rings = 1;
};

/// All messages to one rank, or all from one rank.
struct PairDirection {
  uint32_t port = 0;   ///< index of ring 0's port in PairsLaunch::ports; the ports of the other rings follow
  uint32_t first = 0;  ///< index of its first message
  uint32_t count = 0;
  uint32_t sends = 0;  ///< 1: messages to the rank; 0: from it
};

/// The progress of a lane.
struct PairProgress {
  uint32_t message = 0;  ///< index of the message in its direction
  uint32_t piece = 0;    ///< index of the piece in that message
};

/// A bit that marks tags of sends and receives; tags of collectives are far smaller (src/exec/work.h).
inline constexpr uint64_t kPairTag = uint64_t{1} << 63;
constexpr uint64_t pair_tag(uint64_t bytes) { return kPairTag | bytes; }

struct PairsLaunch {
  static constexpr uint32_t kOwnBytes = 3072;

  const Port* ports = nullptr;
  PairProgress* progress = nullptr;  ///< progress, indexed by lane; its initial content is ignored
  const std::byte* table = nullptr;  ///< the table; null: it is in `own`
  std::byte* store = nullptr;        ///< if not null, the launch only copies own[0..own_bytes) there
  Note* notes = nullptr;             ///< notes, indexed by block
  const uint64_t* abort = nullptr;   ///< abort word: waiting blocks leave when it is not 0
  uint32_t directions = 0;
  uint32_t rings = 1;   ///< rings per direction: lane l is ring l % rings of direction l / rings
  uint32_t blocks = 1;  ///< number of blocks: block l % blocks serves lane l
  uint32_t own_bytes = 0;
  alignas(8) std::byte own[kOwnBytes];  ///< the table: directions, then messages
};
static_assert(sizeof(PairsLaunch) <= 4000, "drivers take arguments of 4 KiB");
static_assert(sizeof(PairDirection) == 16 && sizeof(PairMessage) == 24);

/// The type of the kernel of libweir_host_kernels.so; see HostKernel.
using HostPairsKernel = void (*)(const PairsLaunch* launch, uint32_t block, uint32_t grid);

}  // namespace weir::exec::gpu
