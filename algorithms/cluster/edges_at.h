// SPDX-License-Identifier: Apache-2.0
/// The edges of a network, indexed by the node at one of their ends.
/// Tests: tests/algorithms/cluster_test.cc
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "algorithms/network/network.h"
#include "src/base/index.h"

namespace weir::algorithms {

/// Immutable; holds no references.
class EdgesAt {
 public:
  /// Contains the edges for which `wanted(edge)` is true, by `end`: &Edge::from or &Edge::to.
  template <typename Wanted>
  EdgesAt(const Network& network, int32_t Edge::*end, Wanted&& wanted)
      : begin_(static_cast<size_t>(network.nodes) + 1) {
    for (const Edge& edge : network.edges) begin_[at(edge.*end) + 1] += wanted(edge) ? 1 : 0;
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    edges_.resize(begin_.back());
    std::vector<size_t> next(begin_.begin(), begin_.end() - 1);
    for (size_t e = 0; e < network.edges.size(); ++e) {
      const Edge& edge = network.edges[e];
      if (wanted(edge)) edges_[next[at(edge.*end)]++] = static_cast<int32_t>(e);
    }
  }

  /// The edge numbers, ascending.
  std::span<const int32_t> of(int32_t node) const {
    return {edges_.data() + begin_[at(node)], edges_.data() + begin_[at(node) + 1]};
  }

 private:
  std::vector<size_t> begin_;
  std::vector<int32_t> edges_;
};

}  // namespace weir::algorithms
