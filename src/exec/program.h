// SPDX-License-Identifier: Apache-2.0
/// The program that one rank runs. lower() makes it from a plan, Run (lane.h) runs it, check() proves it.
///
/// Lanes are independent instruction streams of 32-byte steps; channels are bounded FIFOs to lanes of other
/// ranks (or of the same rank). A program names channels, buffers and chunks, never bytes or pointers, so one
/// program serves every message size and is shared by all threads when const.
///
/// A run executes the program once per pass; pass t works on tile t of every chunk.
/// Tests: tests/exec/lower_test.cc, tests/exec/check_test.cc
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "algorithms/ir/plan.h"
#include "src/exec/step.h"

namespace weir::exec {

/// One end of a channel. The other end, at rank `peer`, has the same number.
struct Channel {
  Rank peer = 0;
  uint32_t number = 0;
  bool outgoing = false;
  uint32_t chunks = 0;  ///< maximum number of chunks in a message; 0: only empty messages

  bool operator==(const Channel&) const = default;
};

struct Program {
  ir::Shape shape;
  Rank rank = 0;
  uint32_t scratch_chunks = 0;
  std::vector<Place> places;
  std::vector<Channel> channels;
  std::vector<std::vector<Step>> lanes;
  /// Maximum number of chunks in a message of any rank's program of the plan; it determines the tile, which
  /// is the same on all ranks.
  uint32_t message_chunks = 1;
};

/// The number of a channel between two ranks, from the lanes at its ends and the kind of its messages.
constexpr uint32_t data_channel(uint8_t src_lane, uint8_t dst_lane) {
  return (src_lane * 256u + dst_lane) * 2;
}
/// The lanes of the sender and of the receiver.
constexpr std::pair<uint8_t, uint8_t> lanes_of(uint32_t data_channel) {
  return {static_cast<uint8_t>(data_channel / 2 / 256), static_cast<uint8_t>(data_channel / 2 % 256)};
}
constexpr uint32_t signal_channel(uint8_t src_lane, uint8_t dst_lane) {
  return data_channel(src_lane, dst_lane) + 1;
}

}  // namespace weir::exec
