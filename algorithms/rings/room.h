// SPDX-License-Identifier: Apache-2.0
/// What rings leave of a network's links, counted in rings; and the search for one more ring.
///
/// Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "algorithms/catalogue/layout.h"
#include "algorithms/network/network.h"

namespace weir::algorithms {

/// A ring and the edges that its hops take, one hop after the other.
struct RoutedRing {
  Ring order;
  std::vector<int32_t> edges;
};

class Room {
 public:
  /// The network must outlive it.
  explicit Room(const Network& network);

  /// Whether an edge is on one of the shortest ways between ranks over switches: rings take no others, since
  /// what carries a plan out does not.
  bool is_used(size_t edge) const;
  /// Edge e has room for `widths[e]` rings.
  void set(std::vector<int64_t> widths) { room_ = std::move(widths); }
  /// Takes the room of a ring that leaves rank `first`, in random order; nothing where none was found within
  /// so many steps. `steps` counts down.
  std::optional<RoutedRing> take(Rank first, int64_t& steps, std::mt19937& random);
  /// The same ranks the other way round, if there is room.
  std::optional<RoutedRing> take_reverse(const RoutedRing& ring);
  void give_back(const RoutedRing& ring);

 private:
  /// Where one can go from a rank: over the last `edge`, with so many edges.
  struct Option {
    Rank rank = 0;
    int hops = 0;
    int exits = 0;     ///< to ranks that were not visited
    uint32_t lot = 0;  ///< decides between equals
  };
  /// A rank of the path, and where else to go from it.
  struct Stop {
    Rank rank = 0;
    std::vector<Option> options;  ///< the best is the last
    size_t edges_before = 0;      ///< of the path, before the hop from here
  };

  void find_ways(Rank from);
  bool search(Rank first, int64_t& steps, std::mt19937& random);
  void go_back(size_t edges);
  std::vector<Option> options_from(Rank rank, std::mt19937& random);
  int exits(Rank rank) const;
  bool hop(Rank from, Rank to);
  void reach(Rank from);

  const Network& network_;
  std::vector<std::vector<int32_t>> leaving_;  ///< by node: edges
  std::vector<Rank> rank_at_;                  ///< by node; -1: a switch
  std::vector<std::vector<char>> ways_;        ///< by rank, by edge: on a shortest way from there
  std::vector<int64_t> room_;                  ///< by edge
  std::vector<char> visited_;                  ///< by rank
  std::vector<int32_t> edges_;                 ///< of the path
  std::vector<Stop> path_;
  bool near_only_ = false;        ///< this search never leaves a host while a rank of it is left
  std::vector<int32_t> came_by_;  ///< by node: the edge by which reach() came there; -1: it did not
  std::vector<int> hops_;         ///< by node, likewise
  std::vector<int32_t> queue_;
};

}  // namespace weir::algorithms
