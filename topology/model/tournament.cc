// SPDX-License-Identifier: Apache-2.0

#include "topology/model/tournament.h"

#include <numeric>
#include <random>
#include <utility>

namespace weir::topology {

Tournament::Tournament(int players, int repetition)
    : positions_(static_cast<size_t>(players)), players_(static_cast<size_t>(players)) {
  std::iota(players_.begin(), players_.end(), 0);
  // Neighbours often share a leaf, and must not all meet in one round. std::shuffle is not used, because its
  // result may differ between machines.
  std::mt19937_64 random(static_cast<uint64_t>(repetition));
  for (size_t left = players_.size(); left > 1; --left)
    std::swap(players_[left - 1], players_[random() % left]);
  for (size_t position = 0; position < players_.size(); ++position)
    positions_[static_cast<size_t>(players_[position])] = static_cast<int>(position);
  if (players % 2 != 0) players_.push_back(-1);
}

int Tournament::rounds() const { return positions_.size() < 2 ? 0 : static_cast<int>(players_.size()) - 1; }

int Tournament::partner(int round, int player) const {
  // The last position stays; the others form a circle, and positions meet whose sum is twice the round.
  const int circle = static_cast<int>(players_.size()) - 1;
  const int position = positions_[static_cast<size_t>(player)];
  int other = position == circle ? round : (2 * round - position + 2 * circle) % circle;
  if (position == round) other = circle;
  return players_[static_cast<size_t>(other)];
}

}  // namespace weir::topology
