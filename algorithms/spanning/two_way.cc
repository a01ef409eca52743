// SPDX-License-Identifier: Apache-2.0

#include "algorithms/spanning/two_way.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "algorithms/packing/arborescences.h"
#include "algorithms/packing/logical_graph.h"
#include "algorithms/packing/rounding.h"
#include "algorithms/spanning/duplex_graph.h"
#include "algorithms/spanning/forests.h"
#include "algorithms/spanning/splitting.h"
#include "src/base/index.h"

namespace weir::algorithms {
namespace {

Status wrong(std::string sentence) { return {Code::invalid_argument, std::move(sentence)}; }

/// Capacities of the network's links in trees, for the given number of trees.
DuplexGraph graph_of(const Network& network, int trees, const Rational& bandwidth) {
  std::vector<int64_t> shares(network.rank_nodes.size());
  shares[0] = trees;
  return {network, trees_per_edge(network, shares, bandwidth)};
}

/// Links between ranks; `a` and `b` are rank numbers from here on.
std::vector<DuplexLink> links_of(const DuplexGraph& graph) {
  std::vector<Rank> rank_at(at(graph.network().nodes), -1);
  for (Rank rank = 0; rank < graph.network().ranks(); ++rank) {
    rank_at[at(graph.network().rank_nodes[at(rank)])] = rank;
  }
  std::vector<DuplexLink> links = graph.links();
  for (DuplexLink& link : links) {
    link.a = rank_at[at(link.a)];
    link.b = rank_at[at(link.b)];
  }
  return links;
}

/// The use of links by trees, per direction: 2 * link from a to b, 2 * link + 1 back.
struct Hung {
  std::vector<int64_t> shares;  // index: root
  std::vector<int64_t> taken;   // index: link and direction
};

/// Chooses the roots of the trees.
class Hanging {
 public:
  Hanging(int ranks, const std::vector<DuplexLink>& links) : links_(links), ranks_(ranks) {
    hung_.shares.resize(at(ranks));
    hung_.taken.resize(2 * links.size());
  }

  /// The rank from which the tree is lowest; of several, the one that is the root of the fewest trees.
  void hang(const std::vector<size_t>& tree) {
    std::vector<std::vector<size_t>> touching(at(ranks_));
    for (size_t link : tree) {
      touching[at(links_[link].a)].push_back(link);
      touching[at(links_[link].b)].push_back(link);
    }
    std::pair<int, int64_t> best = {INT32_MAX, 0};
    Rank root = 0;
    for (Rank rank = 0; rank < ranks_; ++rank) {
      const std::pair<int, int64_t> each = {walk(touching, rank, nullptr), hung_.shares[at(rank)]};
      if (each >= best) continue;
      best = each;
      root = rank;
    }
    ++hung_.shares[at(root)];
    walk(touching, root, &hung_.taken);
  }
  Hung take() { return std::move(hung_); }

 private:
  /// The tree's height from `root`; counts the directions in which its links lead down.
  int walk(const std::vector<std::vector<size_t>>& touching, Rank root, std::vector<int64_t>* taken) const {
    std::vector<int> depth(at(ranks_), -1);
    std::vector<Rank> reached = {root};
    depth[at(root)] = 0;
    for (size_t i = 0; i < reached.size(); ++i) {
      const Rank from = reached[i];
      for (size_t link : touching[at(from)]) {
        const Rank to = links_[link].a == from ? links_[link].b : links_[link].a;
        if (depth[at(to)] >= 0) continue;
        depth[at(to)] = depth[at(from)] + 1;
        reached.push_back(to);
        if (taken != nullptr) ++(*taken)[2 * link + (links_[link].a == from ? 0 : 1)];
      }
    }
    return depth[at(reached.back())];
  }

  const std::vector<DuplexLink>& links_;
  const int ranks_;
  Hung hung_;
};

/// Packs trees that lead down, over edges that represent links in one direction each.
Result<std::vector<Tree>> packed_anew(const std::vector<DuplexLink>& links, const Hung& hung) {
  Network between;
  between.nodes = static_cast<int32_t>(hung.shares.size());
  for (Rank rank = 0; rank < between.nodes; ++rank) between.rank_nodes.push_back(rank);
  for (const DuplexLink& link : links) {
    between.edges.push_back({link.a, link.b, link.capacity});
    between.edges.push_back({link.b, link.a, link.capacity});
  }
  LogicalGraph graph(between, hung.taken);
  return pack_trees(graph, hung.shares);
}

/// Spanning trees over links between ranks, all with one bandwidth.
struct Spanning {
  DuplexGraph graph;
  std::vector<DuplexLink> links;
  std::vector<std::vector<size_t>> trees;
  Rational bandwidth;
};

Result<Spanning> spanning_of(const Network& network, int trees, const Rational& bandwidth) {
  DuplexGraph graph = graph_of(network, trees, bandwidth);
  WEIR_TRY(split_off_switches(graph, trees));
  std::vector<DuplexLink> links = links_of(graph);
  auto spanning = spanning_trees(network.ranks(), links, trees);
  WEIR_TRY(spanning.status());
  return Spanning{std::move(graph), std::move(links), std::move(*spanning), bandwidth};
}

/// The lowest packing found in a few rounds of choosing roots and packing again.
Result<Packing> lowest(int ranks, const Spanning& spanning) {
  constexpr int kRounds = 4;
  Packing best;
  std::vector<std::vector<size_t>> trees = spanning.trees;
  for (int round = 0; round < kRounds; ++round) {
    Hanging hanging(ranks, spanning.links);
    for (const std::vector<size_t>& tree : trees) hanging.hang(tree);
    Hung hung = hanging.take();
    auto packed = packed_anew(spanning.links, hung);
    WEIR_TRY(packed.status());
    Packing next{std::move(hung.shares), spanning.bandwidth, std::move(*packed)};
    trees.clear();
    for (const Tree& tree : next.trees) {
      std::vector<size_t>& links = trees.emplace_back();
      for (const TreeEdge& edge : tree.edges) links.push_back(at(edge.route.front()) / 2);
      for (int64_t more = 1; more < tree.multiplicity; ++more) trees.push_back(std::vector(trees.back()));
    }
    if (round == 0 || height(next) < height(best)) best = std::move(next);
  }
  return best;
}

Result<TwoWay> hung_up(int ranks, const Spanning& spanning, const Rational& bound) {
  auto down = lowest(ranks, spanning);
  WEIR_TRY(down.status());
  for (Tree& tree : down->trees) {
    for (TreeEdge& edge : tree.edges) {
      const auto number = at(edge.route.front());
      const std::vector<int32_t>& route = spanning.links[number / 2].route;
      edge.route = number % 2 == 0 ? route : spanning.graph.mirrored(route);
    }
  }
  Packing up = *down;
  for (Tree& tree : up.trees) {
    for (TreeEdge& edge : tree.edges) {
      for (int32_t& each : edge.route) each = spanning.graph.opposite(each);
    }
  }
  const Rational part = spanning.bandwidth * spanning.trees.size() / bound;
  return TwoWay{{std::move(up), 1, part}, {std::move(*down), 1, part}};
}

/// The best spanning trees for the goal.
Result<Spanning> best_spanning(const Network& network, const Rational& bound, const PackingGoal& goal) {
  const auto fits = [&](int trees, const Rational& bandwidth) {
    return bears(graph_of(network, trees, bandwidth), trees);
  };
  for (int trees = 1; trees <= goal.most_trees; ++trees) {
    if (!fits(trees, bound / trees)) continue;
    auto spanning = spanning_of(network, trees, bound / trees);
    if (spanning.ok()) return spanning;
  }
  const auto widest = [&](int trees) -> Result<Spanning> {
    const auto bandwidth = best_bandwidth(network, trees * int64_t{network.ranks()}, bound / trees,
                                          [&](const Rational& each) { return fits(trees, each); });
    WEIR_TRY(bandwidth.status());
    return spanning_of(network, trees, *bandwidth);
  };
  for (int trees = 1; trees <= goal.most_trees; ++trees) {
    if (!fits(trees, goal.enough * bound / trees)) continue;
    auto spanning = widest(trees);
    if (spanning.ok()) return spanning;
  }
  Result<Spanning> best = wrong("no spanning trees fit into the links: expected a connected network");
  Rational most = 0;
  for (int trees = 1; trees <= goal.most_trees; ++trees) {
    auto spanning = widest(trees);
    if (!spanning.ok() || spanning->bandwidth * trees <= most) continue;
    most = spanning->bandwidth * trees;
    best = std::move(spanning);
  }
  return best;
}

}  // namespace

Result<TwoWay> pack_two_way(const Network& network, const Rational& bound, const PackingGoal& goal) {
  WEIR_TRY(check(network));
  if (network.ranks() < 2) return wrong("trees over one rank: expected several ranks");
  if (bound <= 0) return wrong(fmt::format("a bound of {}: expected more than 0", bound.str()));
  if (goal.most_trees < 1) return wrong(fmt::format("{} trees: expected at least 1", goal.most_trees));
  const auto spanning = best_spanning(network, bound, goal);
  WEIR_TRY(spanning.status());
  return hung_up(network.ranks(), *spanning, bound);
}

}  // namespace weir::algorithms
