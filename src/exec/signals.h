// SPDX-License-Identifier: Apache-2.0
/// Finds the empty messages that a plan needs: who must tell whom that memory may be read or written now,
/// because no message with data says so. Used by lower() alone.
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
  int64_t after;  ///< kStart: before everything
  Rank owner;
  uint8_t owner_lane;
  Rank reader;
  uint8_t reader_lane;
  uint32_t before;
};

/// At the end of a pass lane `from` tells lane `to` of the same rank that it has done with the scratch they
/// share.
struct LaneDrain {
  uint8_t from;
  uint8_t to;

  auto operator<=>(const LaneDrain&) const = default;
};

struct Signals {
  std::vector<Signal> signals;
  std::vector<LaneDrain> drains;
};

/// A lane of `user` reads or writes the buffers of `owner`, which may take place only between two
/// messages: the owner's, that it has begun, and the user's, that it is done.
struct DirectAccess {
  Rank owner;
  Rank user;
  uint8_t lane;

  auto operator<=>(const DirectAccess&) const = default;
};

/// The lane of the rank `at` that carries out its half of `move`.
constexpr uint8_t lane_at(const ir::Move& move, Rank at) {
  return move.dst == at ? move.dst_lane : move.src_lane;
}

/// What concerns `rank`: every pull it takes part in, and every two of its lanes that touch the same memory,
/// one of them writing, unless messages order them already. Input and output count as the same memory where
/// the collective may be called in place. REQUIRES: a verified plan. Pure.
Signals find_signals(const ir::Plan& plan, Rank rank);

/// Every direct access that `rank` makes or gets.
std::set<DirectAccess> find_direct_accesses(const ir::Plan& plan, Rank rank);

}  // namespace weir::exec
