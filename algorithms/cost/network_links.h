// SPDX-License-Identifier: Apache-2.0
/// How fast bytes go between places, as the network between them says (algorithms/catalogue/layout.h), on the
/// routes that the simulator takes (algorithms/sim/flow_routes.h).
///
/// A value, the same for the same network; constant once made: thread-safe. Seconds per byte everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "algorithms/network/network.h"
#include "src/base/types.h"

namespace weir::cost {

class NetworkLinks {
 public:
  /// More places have too many pairs for what is made whenever a communicator is.
  static constexpr int kMostPlaces = 64;

  /// Null for a network of fewer than two or more than kMostPlaces ranks, and where no path joins two of
  /// them.
  static std::shared_ptr<const NetworkLinks> of(const algorithms::Network& network);

  /// The edges between two different places.
  std::span<const int32_t> route(Rank src, Rank dst) const {
    const size_t pair = pair_of(src, dst);
    return {edges_.data() + first_[pair], first_[pair + 1] - first_[pair]};
  }
  /// Of the narrowest edge between them.
  double per_byte(Rank src, Rank dst) const { return per_byte_[pair_of(src, dst)]; }
  /// From a place to the one that it reaches the fastest, or that reaches it the fastest.
  double fastest(Rank place) const { return fastest_[static_cast<size_t>(place)]; }
  /// Of all places and the ones after them: where a ring in their order is the slowest.
  double slowest_neighbours() const { return slowest_neighbours_; }

  size_t edges() const { return of_edge_.size(); }
  double of_edge(int32_t edge) const { return of_edge_[static_cast<size_t>(edge)]; }

 private:
  size_t pair_of(Rank src, Rank dst) const {
    return static_cast<size_t>(src) * fastest_.size() + static_cast<size_t>(dst);
  }

  std::vector<double> of_edge_;
  std::vector<size_t> first_;     // by pair, in edges_; and the end of the last
  std::vector<int32_t> edges_;    // of all routes
  std::vector<double> per_byte_;  // by pair
  std::vector<double> fastest_;   // by place
  double slowest_neighbours_ = 0;
};

}  // namespace weir::cost
