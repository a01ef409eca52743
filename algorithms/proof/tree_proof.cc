// SPDX-License-Identifier: Apache-2.0

#include "algorithms/proof/tree_proof.h"

#include <fmt/format.h>

#include <string>

#include "algorithms/proof/wrong.h"

namespace weir::algorithms {
namespace {

/// Checks that no edge carries more than its capacity. `passing`: index: edge; number of trees.
Result<TreeLoads> weigh(const Network& network, const Rational& bandwidth,
                        const std::vector<Whole>& passing) {
  TreeLoads loads;
  loads.use = 0;
  for (size_t e = 0; e < passing.size(); ++e) {
    const Edge& edge = network.edges[e];
    const Rational load = bandwidth * Rational(passing[e]);
    if (load > edge.capacity) {
      return wrong("edge {} of the network (node {} to {}) carries {}, more than its capacity {}", e,
                   edge.from, edge.to, load.str(), edge.capacity);
    }
    loads.trees.push_back(static_cast<int64_t>(passing[e]));
    if (passing[e] == 0 || load / edge.capacity <= loads.use) continue;
    loads.use = load / edge.capacity;
    loads.tightest = static_cast<int32_t>(e);
  }
  return loads;
}

class TreeJudge {
 public:
  TreeJudge(const Network& network, const Packing& packing)
      : network_(network), packing_(packing), rank_at_(static_cast<size_t>(network.nodes), -1) {
    for (size_t r = 0; r < network.rank_nodes.size(); ++r) {
      rank_at_[static_cast<size_t>(network.rank_nodes[r])] = static_cast<Rank>(r);
    }
    rooted_.resize(network.rank_nodes.size());
    passing_.resize(network.edges.size());
  }

  Result<TreeLoads> judge() {
    if (packing_.shares.size() != network_.rank_nodes.size()) {
      return wrong("a packing for {} ranks: the network has {}", packing_.shares.size(),
                   network_.rank_nodes.size());
    }
    if (packing_.bandwidth <= 0) return wrong("trees without bandwidth: expected more than 0");
    for (size_t number = 0; number < packing_.trees.size(); ++number) WEIR_TRY(walk(number));
    for (size_t r = 0; r < rooted_.size(); ++r) {
      if (rooted_[r] != packing_.shares[r]) {
        return wrong("rank {} is the root of {} trees, expected {}", r, rooted_[r].str(), packing_.shares[r]);
      }
    }
    return weigh(network_, packing_.bandwidth, passing_);
  }

 private:
  bool is_rank(Rank rank) const { return rank >= 0 && static_cast<size_t>(rank) < rooted_.size(); }

  /// Checks that one tree reaches every rank exactly once, over existing routes.
  Status walk(size_t number) {
    const Tree& tree = packing_.trees[number];
    if (!is_rank(tree.root)) return wrong("tree {} has root {}, not a rank", number, tree.root);
    if (tree.multiplicity <= 0) {
      return wrong("tree {} has multiplicity {}, expected at least 1", number, tree.multiplicity);
    }
    std::vector<char> reached(rooted_.size());
    reached[static_cast<size_t>(tree.root)] = 1;
    for (size_t e = 0; e < tree.edges.size(); ++e) {
      const TreeEdge& edge = tree.edges[e];
      const auto where = [&] {
        return fmt::format("tree {}, edge {} ({} to {})", number, e, edge.from, edge.to);
      };
      if (!is_rank(edge.from) || !is_rank(edge.to)) return wrong("{}: not between two ranks", where());
      if (!reached[static_cast<size_t>(edge.from)]) {
        return wrong("{}: rank {} has nothing to send yet", where(), edge.from);
      }
      if (reached[static_cast<size_t>(edge.to)]) {
        return wrong("{}: rank {} is delivered to twice", where(), edge.to);
      }
      reached[static_cast<size_t>(edge.to)] = 1;
      const std::string fault = follow(edge, tree.multiplicity);
      if (!fault.empty()) return wrong("{}: {}", where(), fault);
    }
    for (size_t r = 0; r < reached.size(); ++r) {
      if (!reached[r]) return wrong("tree {} of root {} does not reach rank {}", number, tree.root, r);
    }
    rooted_[static_cast<size_t>(tree.root)] += tree.multiplicity;
    return {};
  }

  /// Adds a tree edge's load to the edges of its route; returns what is wrong with the route, or nothing.
  std::string follow(const TreeEdge& edge, int64_t multiplicity) {
    int32_t at = network_.rank_nodes[static_cast<size_t>(edge.from)];
    const int32_t end = network_.rank_nodes[static_cast<size_t>(edge.to)];
    for (size_t i = 0; i < edge.route.size(); ++i) {
      const int32_t number = edge.route[i];
      if (number < 0 || static_cast<size_t>(number) >= network_.edges.size()) {
        return fmt::format("the network has no edge {}", number);
      }
      const Edge& step = network_.edges[static_cast<size_t>(number)];
      if (step.from != at) {
        return fmt::format("edge {} of the route starts at node {}, not at node {}", number, step.from, at);
      }
      at = step.to;
      const Rank passed = rank_at_[static_cast<size_t>(at)];
      if (i + 1 < edge.route.size() && passed >= 0) {
        return fmt::format("the route passes through rank {}", passed);
      }
      passing_[static_cast<size_t>(number)] += multiplicity;
    }
    return at == end ? std::string() : fmt::format("the route ends at node {}, not at node {}", at, end);
  }

  const Network& network_;
  const Packing& packing_;
  std::vector<Rank> rank_at_;   // index: node; its rank, or -1
  std::vector<Whole> rooted_;   // index: rank
  std::vector<Whole> passing_;  // index: edge of the network
};

}  // namespace

Result<TreeLoads> check_packing(const Network& network, const Packing& packing) {
  WEIR_TRY(check(network));
  return TreeJudge(network, packing).judge();
}

Result<TreeLoads> check_both(const Network& network, const Packing& reversed_packing,
                             const Packing& packing) {
  const auto down = check_packing(network, packing);
  WEIR_TRY(down.status());
  const auto up = check_packing(reversed(network), reversed_packing);
  WEIR_TRY(up.status());
  for (size_t r = 0; r < packing.shares.size(); ++r) {
    if (reversed_packing.shares[r] == packing.shares[r]) continue;
    return wrong("rank {} is the root of {} trees that sum and {} that spread: expected equal numbers", r,
                 reversed_packing.shares[r], packing.shares[r]);
  }
  if (reversed_packing.bandwidth != packing.bandwidth) {
    return wrong("trees that sum have bandwidth {} and those that spread {}: expected the same",
                 reversed_packing.bandwidth.str(), packing.bandwidth.str());
  }
  std::vector<Whole> passing(down->trees.begin(), down->trees.end());
  for (size_t e = 0; e < passing.size(); ++e) passing[e] += up->trees[e];
  return weigh(network, packing.bandwidth, passing);
}

}  // namespace weir::algorithms
