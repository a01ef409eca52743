// SPDX-License-Identifier: Apache-2.0
/// The sends and receives of one group as a launch: weir_pairs. A lane is one ring of one direction between
/// two ranks; it takes the messages of that direction in order, and depends on no other lane of its rank. A
/// block serves as many lanes as fall to it, in turns, as their rings allow: so any number of blocks will do.
///
/// A message is cut into pieces; piece p goes through ring p % rings. Both ends work out the same from its
/// bytes. Every piece carries the message's tag. At least one goes, if only an empty one.
///
/// The table of directions and messages is in the argument where it fits; else launches before it
/// (PairsLaunch::store) have brought it to memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/exec/gpu/launch.h"

namespace weir::exec::gpu {

/// A send or a receive.
struct PairMessage {
  std::byte* data = nullptr;  ///< what is sent is only read
  uint64_t bytes = 0;
  uint32_t piece = 0;  ///< bytes of each piece but the last
  uint32_t rings = 1;
};

/// What goes to a rank, or comes from it.
struct PairDirection {
  uint32_t port = 0;   ///< of ring 0, in PairsLaunch::ports; those of the other rings follow
  uint32_t first = 0;  ///< of its messages
  uint32_t count = 0;
  uint32_t sends = 0;  ///< 1: to the rank
};

/// How far a lane is.
struct PairProgress {
  uint32_t message = 0;  ///< of its direction
  uint32_t piece = 0;    ///< of that message
};

/// Tags of collectives are numbers far below it (src/exec/work.h).
inline constexpr uint64_t kPairTag = uint64_t{1} << 63;
constexpr uint64_t pair_tag(uint64_t bytes) { return kPairTag | bytes; }

struct PairsLaunch {
  static constexpr uint32_t kOwnBytes = 3072;

  const Port* ports = nullptr;
  PairProgress* progress = nullptr;  ///< by lane; no launch before this one counts
  const std::byte* table = nullptr;  ///< null: own
  std::byte* store = nullptr;        ///< not null: nothing but own[0..own_bytes) goes there
  Note* notes = nullptr;             ///< by block
  const uint64_t* abort = nullptr;   ///< blocks that wait leave when it is not 0
  uint32_t directions = 0;
  uint32_t rings = 1;   ///< most of a message: lane l is ring l % rings of direction l / rings
  uint32_t blocks = 1;  ///< lane l is block l % blocks's
  uint32_t own_bytes = 0;
  alignas(8) std::byte own[kOwnBytes];  ///< directions, then messages
};
static_assert(sizeof(PairsLaunch) <= 4000, "drivers take arguments of 4 KiB");
static_assert(sizeof(PairDirection) == 16 && sizeof(PairMessage) == 24);

/// The kernel of libweir_host_kernels.so: as HostKernel.
using HostPairsKernel = void (*)(const PairsLaunch* launch, uint32_t block, uint32_t grid);

}  // namespace weir::exec::gpu
