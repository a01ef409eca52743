// SPDX-License-Identifier: Apache-2.0
/// The capacity of a network's links that rings have left, counted in rings; and the search for one more
/// ring.
///
/// Not thread-safe.
/// Tests: tests/algorithms/rings_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "algorithms/catalogue/layout.h"
#include "algorithms/network/network.h"

namespace weir::algorithms {

/// A ring and the edges that its hops use, one hop after the other.
struct RoutedRing {
  Ring order;
  std::vector<int32_t> edges;
};

class RingCapacity {
 public:
  /// The network must outlive it.
  explicit RingCapacity(const Network& network);

  /// Whether an edge is on one of the shortest paths between ranks over switches: rings use no others,
  /// because the execution of plans does not either.
  bool is_used(size_t edge) const;
  /// Edge e has capacity for `widths[e]` rings.
  void set(std::vector<int64_t> widths) { capacity_ = std::move(widths); }
  /// Takes the capacity of a ring that begins at rank `first`, in random order; nothing if none was found
  /// within `steps` steps. `steps` counts down.
  std::optional<RoutedRing> take(Rank first, int64_t& steps, std::mt19937& random);
  /// The same ring in the other direction, if there is capacity.
  std::optional<RoutedRing> take_reverse(const RoutedRing& ring);
  void give_back(const RoutedRing& ring);

 private:
  /// The next hop from a rank: its last `edge`, and its number of edges.
  struct Option {
    Rank rank = 0;
    int hops = 0;
    int exits = 0;     ///< number of links to unvisited ranks
    uint32_t lot = 0;  ///< random tie-breaker
  };
  /// A rank of the path, and the alternatives for its next hop.
  struct Stop {
    Rank rank = 0;
    std::vector<Option> options;  ///< the best one is the last
    size_t edges_before = 0;      ///< number of edges of the path before the hop from this rank
  };

  void find_ways(Rank from);
  bool search(Rank first, int64_t& steps, std::mt19937& random);
  void go_back(size_t edges);
  std::vector<Option> options_from(Rank rank, std::mt19937& random);
  int exits(Rank rank) const;
  bool hop(Rank from, Rank to);
  void reach(Rank from);

  const Network& network_;
  std::vector<std::vector<int32_t>> leaving_;  ///< index: node; outgoing edges
  std::vector<Rank> rank_at_;                  ///< index: node; -1: a switch
  std::vector<std::vector<char>> ways_;        ///< index: rank, edge; whether a shortest path uses it
  std::vector<int64_t> capacity_;              ///< index: edge
  std::vector<char> visited_;                  ///< index: rank
  std::vector<int32_t> edges_;                 ///< edges of the path
  std::vector<Stop> path_;
  bool near_only_ = false;        ///< the search leaves a host only after all of its ranks
  std::vector<int32_t> came_by_;  ///< index: node; the edge by which reach() reached it; -1: not reached
  std::vector<int> hops_;         ///< index: node; number of edges to it
  std::vector<int32_t> queue_;
};

}  // namespace weir::algorithms
