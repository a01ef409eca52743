// SPDX-License-Identifier: Apache-2.0
/// A network while it is being turned into one between ranks only: whole capacities from node to node, each
/// made of physical routes.
///
/// Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "algorithms/network/network.h"

namespace weir::algorithms {

/// A route and how much of a logical edge's capacity takes it.
struct Piece {
  std::vector<int32_t> route;  ///< numbers of the network's edges
  int64_t amount = 0;
};

/// More of the piece with this route, or a new one.
void add_piece(std::vector<Piece>& pieces, Piece piece);
/// So much of the last pieces. REQUIRES: they have it.
std::vector<Piece> take_pieces(std::vector<Piece>& pieces, int64_t amount);

class LogicalGraph {
 public:
  /// `capacities[e]` that of the network's edge e; 0: it is left out. The network must outlive the graph.
  LogicalGraph(const Network& network, const std::vector<int64_t>& capacities);

  int nodes() const { return network_.nodes; }
  const Network& network() const { return network_; }
  int64_t capacity(int from, int to) const;
  /// Nodes with capacity to or from `node`, ascending.
  std::vector<int> targets(int node) const { return neighbours(out_, node); }
  std::vector<int> sources(int node) const { return neighbours(in_, node); }
  int64_t leaving(int node) const { return sum(out_, node); }
  int64_t entering(int node) const { return sum(in_, node); }

  /// Takes `amount` of capacity away. REQUIRES: no more than there is; so too below.
  void reduce(int from, int to, int64_t amount);
  /// Splits `amount` off at `middle`: from-middle and middle-to shrink, from-to grows by it along the joined
  /// routes. What comes back to where it started is dropped.
  void split(int from, int middle, int to, int64_t amount);
  /// Most capacity of from-to that takes one and the same route.
  int64_t widest(int from, int to) const;
  /// Takes `amount` of one route away and returns the route. REQUIRES: amount <= widest(from, to).
  std::vector<int32_t> take(int from, int to, int64_t amount);

 private:
  using Row = std::map<int, int64_t>;
  static std::vector<int> neighbours(const std::vector<Row>& rows, int node);
  static int64_t sum(const std::vector<Row>& rows, int node);
  void change(int from, int to, int64_t amount);
  std::vector<Piece> remove(int from, int to, int64_t amount);
  void add(int from, int to, Piece piece);
  std::vector<int32_t> joined(const std::vector<int32_t>& head, const std::vector<int32_t>& tail) const;

  const Network& network_;
  std::vector<Row> out_;
  std::vector<Row> in_;
  std::map<std::pair<int, int>, std::vector<Piece>> pieces_;
};

}  // namespace weir::algorithms
