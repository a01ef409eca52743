// SPDX-License-Identifier: Apache-2.0
/// The schedule of pairwise measurements: every host meets every other exactly once, in as few rounds as
/// possible, with all hosts active at once (except one that rests if their number is odd). It is the circle
/// method of chess tournaments.
///
/// A value; all processes that pass the same numbers get the same pairs.
/// Tests: tests/topology/measured_test.cc
#pragma once

#include <vector>

namespace weir::topology {

class Tournament {
 public:
  /// Repetitions differ in which pairs are active at the same time. REQUIRES: players >= 1.
  Tournament(int players, int repetition);

  /// The number of rounds: players - 1 if that is odd, else players; 0 for one player.
  int rounds() const;
  /// The opponent of `player` in that round, or -1 if it rests.
  int partner(int round, int player) const;

 private:
  std::vector<int> positions_;  ///< position of each player
  std::vector<int> players_;    ///< player at each position; the last is -1 if the number of players is odd
};

}  // namespace weir::topology
