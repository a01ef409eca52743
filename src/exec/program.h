// SPDX-License-Identifier: Apache-2.0
/// The program: what one rank runs. Made by lower() from a plan, run by Run (lane.h), proved by check().
///
/// Lanes are independent instruction streams of 32-byte steps; channels are bounded FIFOs to lanes of other
/// ranks (or of the same rank). A program names channels, buffers and chunks, never bytes or pointers, so one
/// program serves every message size and is shared by all threads when const.
///
/// A run carries the program out once per pass; pass t works on tile t of every chunk.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "algorithms/ir/plan.h"
#include "src/exec/step.h"

namespace weir::exec {

/// One end of a channel. The other end has the same number, `peer` being this rank.
struct Channel {
  Rank peer = 0;
  uint32_t number = 0;
  bool outgoing = false;
  uint32_t chunks = 0;  ///< most chunks in one message; 0: empty messages only

  bool operator==(const Channel&) const = default;
};

struct Program {
  ir::Shape shape;
  Rank rank = 0;
  uint32_t scratch_chunks = 0;
  std::vector<Place> places;
  std::vector<Channel> channels;
  std::vector<std::vector<Step>> lanes;
  /// Most chunks in one message of any rank's program of the plan: fixes the tile that all ranks agree on.
  uint32_t message_chunks = 1;
};

/// Numbers of channels between two ranks: by the lanes at their ends and by what they carry.
constexpr uint32_t data_channel(uint8_t src_lane, uint8_t dst_lane) {
  return (src_lane * 256u + dst_lane) * 2;
}
/// Of the sender, then of the receiver.
constexpr std::pair<uint8_t, uint8_t> lanes_of(uint32_t data_channel) {
  return {static_cast<uint8_t>(data_channel / 2 / 256), static_cast<uint8_t>(data_channel / 2 % 256)};
}
constexpr uint32_t signal_channel(uint8_t src_lane, uint8_t dst_lane) {
  return data_channel(src_lane, dst_lane) + 1;
}

}  // namespace weir::exec
