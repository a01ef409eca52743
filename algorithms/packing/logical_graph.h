// SPDX-License-Identifier: Apache-2.0
/// A network while it is converted into one between ranks only: whole-number capacities between nodes, each
/// composed of physical routes.
///
/// Not thread-safe.
/// Tests: tests/algorithms/packing_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "algorithms/network/network.h"

namespace weir::algorithms {

/// A route and the part of a logical edge's capacity that uses it.
struct RouteShare {
  std::vector<int32_t> route;  ///< numbers of the network's edges
  int64_t amount = 0;
};

/// Increases the piece with this route, or adds one.
void add_piece(std::vector<RouteShare>& pieces, RouteShare piece);
/// Removes `amount` from the last pieces. REQUIRES: they have that much.
std::vector<RouteShare> take_pieces(std::vector<RouteShare>& pieces, int64_t amount);

class LogicalGraph {
 public:
  /// `capacities[e]` is that of the network's edge e; 0: excluded. The network must outlive the graph.
  LogicalGraph(const Network& network, const std::vector<int64_t>& capacities);

  int nodes() const { return network_.nodes; }
  const Network& network() const { return network_; }
  int64_t capacity(int from, int to) const;
  /// Nodes with capacity to or from `node`, ascending.
  std::vector<int> targets(int node) const { return neighbours(out_, node); }
  std::vector<int> sources(int node) const { return neighbours(in_, node); }
  int64_t leaving(int node) const { return sum(out_, node); }
  int64_t entering(int node) const { return sum(in_, node); }

  /// Removes `amount` of capacity. REQUIRES, here and below: no more than there is.
  void reduce(int from, int to, int64_t amount);
  /// Splits `amount` off at `middle`: from-middle and middle-to shrink, from-to grows by it along the
  /// combined routes. Capacity that would return to its start is dropped.
  void split(int from, int middle, int to, int64_t amount);
  /// Maximum capacity of from-to that uses a single route.
  int64_t widest(int from, int to) const;
  /// Removes `amount` of one route and returns the route. REQUIRES: amount <= widest(from, to).
  std::vector<int32_t> take(int from, int to, int64_t amount);

 private:
  using Row = std::map<int, int64_t>;
  static std::vector<int> neighbours(const std::vector<Row>& rows, int node);
  static int64_t sum(const std::vector<Row>& rows, int node);
  void change(int from, int to, int64_t amount);
  std::vector<RouteShare> remove(int from, int to, int64_t amount);
  void add(int from, int to, RouteShare piece);
  std::vector<int32_t> joined(const std::vector<int32_t>& head, const std::vector<int32_t>& tail) const;

  const Network& network_;
  std::vector<Row> out_;
  std::vector<Row> in_;
  std::map<std::pair<int, int>, std::vector<RouteShare>> pieces_;
};

}  // namespace weir::algorithms
