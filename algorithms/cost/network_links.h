// SPDX-License-Identifier: Apache-2.0
/// The speed between positions, derived from the network between them (algorithms/catalogue/layout.h), on the
/// routes that the simulator uses (algorithms/sim/flow_routes.h).
///
/// A value, the same for the same network; immutable and thread-safe. All figures are seconds per byte.
/// Tests: tests/algorithms/cost_table_test.cc
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
  /// Maximum number of positions: more have too many pairs to compute whenever a communicator is made.
  static constexpr int kMostPlaces = 64;

  /// Null for a network of fewer than two or more than kMostPlaces ranks, and if no path connects two of
  /// them. `host_of`: index: position; ranks of one host are consecutive.
  static std::shared_ptr<const NetworkLinks> of(const algorithms::Network& network,
                                                std::span<const int> host_of);

  /// The edges between two different positions.
  std::span<const int32_t> route(Rank src, Rank dst) const {
    const size_t pair = pair_of(src, dst);
    return {edges_.data() + first_[pair], first_[pair + 1] - first_[pair]};
  }
  /// Seconds per byte of the narrowest edge between them.
  double per_byte(Rank src, Rank dst) const { return per_byte_[pair_of(src, dst)]; }
  /// Seconds per byte from a position to the position of another host that it reaches fastest, or that
  /// reaches it fastest.
  double fastest(Rank place) const { return fastest_[static_cast<size_t>(place)]; }
  /// The maximum over the first positions of all hosts and their successors: the slowest hop of a ring over
  /// hosts, as rates between hosts are measured.
  double slowest_neighbours() const { return slowest_neighbours_; }

  size_t edges() const { return of_edge_.size(); }
  double of_edge(int32_t edge) const { return of_edge_[static_cast<size_t>(edge)]; }

 private:
  size_t pair_of(Rank src, Rank dst) const {
    return static_cast<size_t>(src) * fastest_.size() + static_cast<size_t>(dst);
  }

  std::vector<double> of_edge_;
  std::vector<size_t> first_;     // index: pair; first index in edges_, plus the end of the last
  std::vector<int32_t> edges_;    // edges of all routes
  std::vector<double> per_byte_;  // index: pair
  std::vector<double> fastest_;   // index: position
  double slowest_neighbours_ = 0;
};

}  // namespace weir::cost
