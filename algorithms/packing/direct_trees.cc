// SPDX-License-Identifier: Apache-2.0

#include "algorithms/packing/direct_trees.h"

#include <algorithm>
#include <utility>

#include "src/base/index.h"

namespace weir::algorithms {
namespace {

class Sender {
 public:
  Sender(const Network& network, const Rational& bound) : network_(network), leaving_(at(network.nodes)) {
    rank_at_.assign(at(network.nodes), -1);
    for (Rank rank = 0; rank < network.ranks(); ++rank) rank_at_[at(network.rank_nodes[at(rank)])] = rank;
    for (size_t e = 0; e < network.edges.size(); ++e) {
      const Edge& edge = network.edges[e];
      leaving_[at(edge.from)].push_back(static_cast<int32_t>(e));
      const Whole most = Whole(edge.capacity) * denominator(bound) / numerator(bound);
      room_.push_back(static_cast<int64_t>(std::min<Whole>(most, INT64_MAX)));
    }
  }

  /// Adds the trees of a root, and takes their bandwidth. None if a rank is not reached, or an edge is full.
  std::optional<Tree> send(Rank root, int64_t multiplicity) {
    Tree tree{root, multiplicity, {}};
    search(network_.rank_nodes[at(root)]);
    for (Rank rank = 0; rank < network_.ranks(); ++rank) {
      if (rank == root) continue;
      TreeEdge hop{root, rank, {}};
      int32_t node = network_.rank_nodes[at(rank)];
      if (arrival_[at(node)] < 0) return {};
      while (rank_at_[at(node)] != root) {
        const int32_t edge = arrival_[at(node)];
        if ((room_[at(edge)] -= multiplicity) < 0) return {};
        hop.route.push_back(edge);
        node = network_.edges[at(edge)].from;
      }
      std::ranges::reverse(hop.route);
      tree.edges.push_back(std::move(hop));
    }
    return tree;
  }

 private:
  /// Finds the last edge of the shortest path from `start` to each node, over switches.
  void search(int32_t start) {
    arrival_.assign(at(network_.nodes), -1);
    std::vector<int32_t> order = {start};
    for (size_t i = 0; i < order.size(); ++i) {
      if (i > 0 && rank_at_[at(order[i])] >= 0) continue;
      for (const int32_t edge : leaving_[at(order[i])]) {
        const int32_t next = network_.edges[at(edge)].to;
        if (next == start || arrival_[at(next)] >= 0) continue;
        arrival_[at(next)] = edge;
        order.push_back(next);
      }
    }
  }

  const Network& network_;
  std::vector<std::vector<int32_t>> leaving_;  // index: node; edges
  std::vector<Rank> rank_at_;                  // index: node; -1: a switch
  std::vector<int64_t> room_;                  // index: edge; number of trees that it can still carry
  std::vector<int32_t> arrival_;               // index: node; -1: not reached
};

}  // namespace

std::optional<Packing> direct_trees(const Network& network, const std::vector<int64_t>& weights,
                                    const Rational& bound) {
  Packing packing{weights, bound, {}};
  Sender sender(network, bound);
  for (Rank root = 0; root < network.ranks(); ++root) {
    if (weights[at(root)] == 0) continue;
    auto tree = sender.send(root, weights[at(root)]);
    if (!tree) return {};
    packing.trees.push_back(std::move(*tree));
  }
  return packing;
}

}  // namespace weir::algorithms
