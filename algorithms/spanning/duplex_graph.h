// SPDX-License-Identifier: Apache-2.0
/// A network as links with equal capacities in both directions, while it is converted into one between ranks
/// only.
///
/// Not thread-safe.
/// Tests: tests/algorithms/spanning_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "algorithms/network/network.h"
#include "algorithms/packing/logical_graph.h"
#include "src/base/index.h"

namespace weir::algorithms {

/// A connection of two nodes along one route.
struct DuplexLink {
  int32_t a = 0;
  int32_t b = 0;
  int64_t capacity = 0;        ///< in each direction
  std::vector<int32_t> route;  ///< numbers of the network's edges, from a to b
};

class DuplexGraph {
 public:
  /// `capacities[e]` is that of the network's edge e; a link has the capacity of its narrower direction.
  /// One-way links are excluded. The network must outlive the graph.
  DuplexGraph(const Network& network, const std::vector<int64_t>& capacities);

  const Network& network() const { return *network_; }
  int64_t capacity(int32_t a, int32_t b) const;
  /// Nodes with capacity to `node`, ascending.
  std::vector<int32_t> neighbours(int32_t node) const;
  int64_t degree(int32_t node) const;

  /// a-middle and middle-b shrink by `amount`, a-b grows by it along the combined routes. REQUIRES: different
  /// nodes, and no more than there is.
  void join(int32_t a, int32_t middle, int32_t b, int64_t amount);
  /// Removes all links of the node.
  void clear(int32_t node);

  std::vector<DuplexLink> links() const;
  /// The same links in the reverse direction.
  std::vector<int32_t> mirrored(const std::vector<int32_t>& route) const;
  /// The edge in the reverse direction, or -1.
  int32_t opposite(int32_t edge) const { return opposite_[at(edge)]; }

 private:
  using Ends = std::pair<int32_t, int32_t>;  // the lower node first; routes begin there
  void change(int32_t a, int32_t b, int64_t amount);
  void add(int32_t a, int32_t b, RouteShare piece);
  std::vector<RouteShare> remove(int32_t a, int32_t b, int64_t amount);
  std::vector<int32_t> joined(const std::vector<int32_t>& head, const std::vector<int32_t>& tail) const;

  const Network* network_;
  std::vector<int32_t> opposite_;
  std::vector<std::map<int32_t, int64_t>> sums_;  // index: node; capacity to each other node
  std::map<Ends, std::vector<RouteShare>> pieces_;
};

}  // namespace weir::algorithms
