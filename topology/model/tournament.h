// SPDX-License-Identifier: Apache-2.0
/// Who measures with whom: every host with every other exactly once, in as few rounds as there can be, all
/// hosts at work at once (but one that rests where their number is odd). It is the circle method of chess
/// tournaments.
///
/// A value; all processes that give the same numbers get the same pairs.
#pragma once

#include <vector>

namespace weir::topology {

class Tournament {
 public:
  /// Repetitions differ in who is at work at the same time. REQUIRES: players >= 1.
  Tournament(int players, int repetition);

  /// One less than the players where their number is even, else as many; 0 where there is one.
  int rounds() const;
  /// Whom `player` meets in that round, or -1: it rests.
  int partner(int round, int player) const;

 private:
  std::vector<int> positions_;  ///< by player
  std::vector<int> players_;    ///< by position; the last is -1 where the number is odd
};

}  // namespace weir::topology
