// SPDX-License-Identifier: Apache-2.0
/// Computes how many trees may take an edge while trees grow: the flow behind arborescences.h.
///
/// For every set X of ranks that the edge enters, the remaining capacity into X must suffice for all other
/// trees that have not reached X. In the flow, a tree is a supply at all ranks it has reached.
///
/// Not thread-safe.
/// Tests: tests/algorithms/packing_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "algorithms/network/max_flow.h"
#include "src/base/index.h"
#include "src/base/types.h"

namespace weir::algorithms {

class GrowthFlow {
 public:
  /// `room[from][to]`: number of trees that fit from rank to rank.
  explicit GrowthFlow(std::vector<std::vector<int64_t>> room);

  int64_t room(Rank from, Rank to) const { return room_[at(from)][at(to)]; }
  void take(Rank from, Rank to, int64_t amount);

  /// Adds identical trees that have reached these ranks; returns their position.
  int add_trees(const std::vector<Rank>& reached, int64_t multiplicity);
  void reach(int place, Rank rank);
  /// Reduces the number of trees at a position, because others were split off.
  void shrink(int place, int64_t multiplicity);
  /// Removes trees that have reached all ranks; the position becomes free.
  void remove(int place);

  /// The number of trees at `place`, which have reached `from` and not `to`, that may take the edge; exact if
  /// it is above `enough`.
  int64_t fitting(int place, Rank from, Rank to, int64_t enough);

 private:
  struct Place {
    int64_t multiplicity = 0;  // 0: free
    std::vector<char> reached;
  };
  /// A set of ranks, and how much more than needed can enter it; that never increases.
  struct Limit {
    std::vector<char> inside;
    int64_t slack = 0;
  };
  int32_t node(int place) const { return ranks_ + place; }
  size_t number(int place, Rank rank) const { return first_ + at(place) * at(ranks_) + at(rank); }
  void build();
  void show(int place);
  int64_t known_limit(const Place& place, Rank from, Rank to, int64_t most) const;
  void remember(int64_t slack);

  int ranks_;
  std::vector<std::vector<int64_t>> room_;
  std::vector<std::vector<size_t>> numbers_;  // index: from rank, to rank; edge in flow_
  size_t first_ = 0;                          // edge in flow_ of the first position
  std::vector<Place> places_;
  int64_t total_ = 0;
  std::optional<MaxFlow<int64_t>> flow_;
  std::vector<Limit> limits_;
  size_t oldest_ = 0;
};

}  // namespace weir::algorithms
