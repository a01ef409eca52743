// SPDX-License-Identifier: Apache-2.0
/// A network as links that carry as much one way as the other, while it is being turned into one between
/// ranks only.
///
/// Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "algorithms/network/network.h"
#include "algorithms/packing/logical_graph.h"
#include "src/base/index.h"

namespace weir::algorithms {

/// What joins two nodes along one route.
struct DuplexLink {
  int32_t a = 0;
  int32_t b = 0;
  int64_t capacity = 0;        ///< each way
  std::vector<int32_t> route;  ///< numbers of the network's edges, from a to b
};

class DuplexGraph {
 public:
  /// `capacities[e]` that of the network's edge e; a link has what its narrower direction has. What leads one
  /// way only is left out. The network must outlive the graph.
  DuplexGraph(const Network& network, const std::vector<int64_t>& capacities);

  const Network& network() const { return *network_; }
  int64_t capacity(int32_t a, int32_t b) const;
  /// Nodes with capacity to `node`, ascending.
  std::vector<int32_t> neighbours(int32_t node) const;
  int64_t degree(int32_t node) const;

  /// a-middle and middle-b shrink by `amount`, a-b grows by it along the joined routes. REQUIRES: different
  /// nodes, and no more than there is.
  void join(int32_t a, int32_t middle, int32_t b, int64_t amount);
  /// Takes away all links of the node.
  void clear(int32_t node);

  std::vector<DuplexLink> links() const;
  /// The same links the other way round.
  std::vector<int32_t> mirrored(const std::vector<int32_t>& route) const;
  /// The edge that leads back, or -1.
  int32_t opposite(int32_t edge) const { return opposite_[at(edge)]; }

 private:
  using Ends = std::pair<int32_t, int32_t>;  // the lower node first; routes lead from it
  void change(int32_t a, int32_t b, int64_t amount);
  void add(int32_t a, int32_t b, Piece piece);
  std::vector<Piece> remove(int32_t a, int32_t b, int64_t amount);
  std::vector<int32_t> joined(const std::vector<int32_t>& head, const std::vector<int32_t>& tail) const;

  const Network* network_;
  std::vector<int32_t> opposite_;
  std::vector<std::map<int32_t, int64_t>> sums_;  // by node: to which other node how much
  std::map<Ends, std::vector<Piece>> pieces_;
};

}  // namespace weir::algorithms
