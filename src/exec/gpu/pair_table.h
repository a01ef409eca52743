// SPDX-License-Identifier: Apache-2.0
/// Sends and receives as the table of weir_pairs (pairs_launch.h): the host's part. Pure; thread-safe.
#pragma once

#include <span>

#include "src/base/bytes.h"
#include "src/exec/gpu/pairs_launch.h"
#include "src/exec/gpu/queued.h"

namespace weir::exec::gpu {

/// What both ends of a pair know alike.
struct PairCut {
  uint32_t rings = 1;      ///< of a direction, at most
  size_t slot_bytes = 64;  ///< of a ring's message, at most
};

struct PairTable {
  Bytes bytes;  ///< directions, then messages, of each direction in order
  uint32_t directions = 0;
  uint32_t rings = 1;  ///< most of a message
  uint32_t piece = 0;  ///< bytes of the largest
};

/// Port of ring 0 in tables of `rings` ports per direction, two directions per peer.
constexpr uint32_t pair_port(Rank peer, bool sends, uint32_t rings) {
  return (static_cast<uint32_t>(peer) * 2 + (sends ? 1 : 0)) * rings;
}

/// Pieces and rings of a message.
PairMessage cut_pair(std::byte* data, size_t bytes, const PairCut& cut);
PairTable pair_table(std::span<const Pair> pairs, const PairCut& cut);

}  // namespace weir::exec::gpu
