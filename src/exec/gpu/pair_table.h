// SPDX-License-Identifier: Apache-2.0
/// Makes the table of weir_pairs (pairs_launch.h) from sends and receives, on the host. Pure; thread-safe.
/// Tests: tests/exec/gpu_pairs_test.cc
#pragma once

#include <span>

#include "src/base/bytes.h"
#include "src/exec/gpu/pairs_launch.h"
#include "src/exec/gpu/queued.h"

namespace weir::exec::gpu {

/// The parameters of the division, which are equal at both ends of a pair.
struct PairCut {
  uint32_t rings = 1;      ///< maximum number of rings of a direction
  size_t slot_bytes = 64;  ///< maximum size of a ring's message
};

struct PairTable {
  Bytes bytes;  ///< directions, followed by the messages of each direction in order
  uint32_t directions = 0;
  uint32_t rings = 1;  ///< largest number of rings of a message
  uint32_t piece = 0;  ///< size of the largest piece in bytes
};

/// The index of ring 0's port in a table of `rings` ports per direction and two directions per peer.
constexpr uint32_t pair_port(Rank peer, bool sends, uint32_t rings) {
  return (static_cast<uint32_t>(peer) * 2 + (sends ? 1 : 0)) * rings;
}

/// Divides a message into pieces and rings.
PairMessage cut_pair(std::byte* data, size_t bytes, const PairCut& cut);
PairTable pair_table(std::span<const PeerTransfer> pairs, const PairCut& cut);

}  // namespace weir::exec::gpu
