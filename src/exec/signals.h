// SPDX-License-Identifier: Apache-2.0
/// Finds the empty messages (signals) that a plan needs: where one lane must inform another that memory may
/// be read or written, because no message with data orders the accesses. Used only by lower().
/// Tests: tests/exec/lower_test.cc
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <vector>

#include "algorithms/ir/plan.h"

namespace weir::exec {

/// One empty message from a lane of `owner`, sent after its move `after`, to a lane of `reader`, which waits
/// for it just before its move `before`. The signals between two lanes are in the same order at both ends.
struct Signal {
  static constexpr int64_t kStart = -1;
  int64_t after;  ///< index of the move; kStart: before all moves
  Rank owner;
  uint8_t owner_lane;
  Rank reader;
  uint8_t reader_lane;
  uint32_t before;
};

/// At the end of a pass, lane `from` signals lane `to` of the same rank that it has finished with the scratch
/// that they share.
struct LaneDrain {
  uint8_t from;
  uint8_t to;

  auto operator<=>(const LaneDrain&) const = default;
};

struct Signals {
  std::vector<Signal> signals;
  std::vector<LaneDrain> drains;
};

/// A lane of `user` reads or writes the buffers of `owner`. This is allowed only between two messages: the
/// owner's, that it has begun, and the user's, that it is done.
struct DirectAccess {
  Rank owner;
  Rank user;
  uint8_t lane;

  auto operator<=>(const DirectAccess&) const = default;
};

/// The lane of rank `at` that executes its half of `move`.
constexpr uint8_t lane_at(const ir::Move& move, Rank at) {
  return move.dst == at ? move.dst_lane : move.src_lane;
}

/// The signals of `rank`: for every pull in which it takes part, and for every two of its lanes that access
/// the same memory, one of them writing, unless messages order the accesses already. Input and output count
/// as the same memory where the collective may be called in place. REQUIRES: a verified plan. Pure.
Signals find_signals(const ir::Plan& plan, Rank rank);

/// All direct accesses by `rank` and to the buffers of `rank`.
std::set<DirectAccess> find_direct_accesses(const ir::Plan& plan, Rank rank);

}  // namespace weir::exec
