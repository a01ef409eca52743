// SPDX-License-Identifier: Apache-2.0

#include "algorithms/cluster/cluster_trees.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "src/base/index.h"

namespace weir::algorithms {
namespace {

/// The path of parts `first` to `last - 1` of a block.
struct Branch {
  int64_t first = 0;
  int64_t last = 0;
  const Tree* tree = nullptr;  ///< a tree inside a host
};
struct Leg {
  int64_t first = 0;
  int64_t last = 0;
  TreeEdge edge;  ///< an edge between hosts
};

template <typename Each>
const Each& covering(const std::vector<Each>& row, int64_t part) {
  return *(std::upper_bound(row.begin(), row.end(), part,
                            [](int64_t place, const Each& each) { return place < each.first; }) -
           1);
}

/// The trees of some ranks one after the other; a single tree has `each` parts.
std::vector<Branch> in_a_row(const Packing& packing, int64_t each, Rank only = -1) {
  std::vector<Branch> row;
  int64_t next = 0;
  for (const Tree& tree : packing.trees) {  // in the order of roots
    if (only >= 0 && tree.root != only) continue;
    row.push_back({next, next + tree.multiplicity * each, &tree});
    next = row.back().last;
  }
  return row;
}

int64_t trees_of(const Packing& packing) {
  return std::accumulate(packing.shares.begin(), packing.shares.end(), int64_t{0});
}

class Speller {
 public:
  Speller(const Network& network, const ClusterPlan& plan, Packing& packing)
      : network_(network), plan_(plan), packing_(packing), rank_at_(at(network.nodes), -1) {
    for (Rank rank = 0; rank < network.ranks(); ++rank) rank_at_[at(network.rank_nodes[at(rank)])] = rank;
    for (const HostShape& shape : plan.shapes) {
      foreign_.push_back(in_a_row(shape.foreign, spread() / trees_of(shape.foreign)));
    }
    packing_.shares.assign(network.rank_nodes.size(), 0);
  }

  void spell() {
    for (size_t host = 0; host < plan_.hosts.size(); ++host) {
      if (plan_.first_block[host] == plan_.first_block[host + 1]) continue;
      if (plan_.free_roots) {
        spell_free(static_cast<int32_t>(host));
        continue;
      }
      spell_blocks(static_cast<int32_t>(host));
    }
    std::stable_sort(packing_.trees.begin(), packing_.trees.end(),
                     [](const Tree& a, const Tree& b) { return a.root < b.root; });
  }

 private:
  /// The number of parts that enter a foreign host once; the others are direct.
  int64_t spread() const { return plan_.parts - plan_.direct_parts; }

  /// The path of a block: its hosts, each with its predecessor.
  using Path = std::vector<std::pair<int32_t, int32_t>>;

  /// Which gates a block uses: the part p takes the path of part (number * parts + p) / count of the plan.
  struct Turn {
    int64_t number;
    int64_t count;
  };

  const HostShape& shape_of(int32_t host) const { return plan_.shapes[at(plan_.hosts[at(host)].shape)]; }
  Rank rank_of(int32_t host, Rank local) const {
    return rank_at_[at(plan_.hosts[at(host)].nodes[at(shape_of(host).network.rank_nodes[at(local)])])];
  }

  /// Hosts that receive a block with the previous host's edge, in an order in which it can arrive.
  Path senders(int32_t origin, int64_t block) const {
    std::vector<std::vector<int32_t>> receivers(plan_.hosts.size());
    for (const HostTransfer& transfer : plan_.transfers) {
      for (const Span& span : transfer.blocks) {
        if (span.first <= block && block < span.last) receivers[at(transfer.from)].push_back(transfer.to);
      }
    }
    Path order = {{origin, -1}};
    for (size_t i = 0; i < order.size(); ++i) {
      for (const int32_t to : receivers[at(order[i].first)]) order.emplace_back(to, order[i].first);
    }
    return order;
  }

  /// How the parts of a block move from one host to another.
  struct Crossing {
    std::vector<Leg> spread;               ///< in the order in which the receiver's trees take them
    std::vector<std::vector<Leg>> direct;  ///< index: rank of the receiver; empty: no part is direct
  };

  Crossing crossing(int32_t from, int32_t to) const {
    const auto coupling =
        std::find_if(plan_.couplings.begin(), plan_.couplings.end(), [&](const Coupling& each) {
          return each.from == plan_.hosts[at(from)].shape && each.to == plan_.hosts[at(to)].shape;
        });
    std::vector<Coupling::Piece> pieces = coupling->pieces;
    const auto& gates = shape_of(to).gates;
    std::stable_sort(pieces.begin(), pieces.end(), [&](const auto& a, const auto& b) {
      return gates[at(a.in)].rank < gates[at(b.in)].rank;
    });
    Crossing crossing{legs(from, to, pieces, 0), {}};
    if (plan_.direct_parts == 0) return crossing;
    for (Rank rank = 0; rank < shape_of(to).network.ranks(); ++rank) {
      pieces = coupling->direct;
      std::erase_if(pieces, [&](const Coupling::Piece& piece) { return gates[at(piece.in)].rank != rank; });
      crossing.direct.push_back(legs(from, to, pieces, spread()));
    }
    return crossing;
  }

  /// The moves of these pieces, which are the parts from `next` on.
  std::vector<Leg> legs(int32_t from, int32_t to, const std::vector<Coupling::Piece>& pieces,
                        int64_t next) const {
    const Host& sender = plan_.hosts[at(from)];
    const Host& receiver = plan_.hosts[at(to)];
    const auto& gates = shape_of(to).gates;
    std::vector<Leg> legs;
    for (const Coupling::Piece& piece : pieces) {
      const Gate& out = shape_of(from).gates[at(piece.out)];
      const Gate& in = gates[at(piece.in)];
      const int32_t up = sender.uplinks[at(out.uplink)].out;
      const int32_t down = receiver.uplinks[at(in.uplink)].in;
      const std::vector<Way::Path> paths =
          paths_between(network_.edges[at(up)].to, network_.edges[at(down)].from);
      int64_t weights = 0;
      for (const Way::Path& path : paths) weights += path.weight;
      for (const Way::Path& path : paths) {
        TreeEdge edge{rank_of(from, out.rank), rank_of(to, in.rank), {}};
        for (const int32_t step : out.out) edge.route.push_back(sender.edges[at(step)]);
        edge.route.push_back(up);
        edge.route.insert(edge.route.end(), path.edges.begin(), path.edges.end());
        edge.route.push_back(down);
        for (const int32_t step : in.in) edge.route.push_back(receiver.edges[at(step)]);
        legs.push_back({next, next + piece.parts / weights * path.weight, std::move(edge)});
        next = legs.back().last;
      }
    }
    return legs;
  }

  std::vector<Way::Path> paths_between(int32_t from, int32_t to) const {
    if (from == to) return {{1, {}}};
    return std::find_if(plan_.ways.begin(), plan_.ways.end(),
                        [&](const Way& way) { return way.from == from && way.to == to; })
        ->paths;
  }

  /// The blocks of the ranks of a host. The plan sends the same parts of each block through a gate; among
  /// blocks that visit the same hosts, parts are exchanged so that each block uses few gates. That loads all
  /// edges as before, with fewer trees.
  void spell_blocks(int32_t origin) {
    const Packing& own = shape_of(origin).own;
    std::map<Path, std::vector<Rank>> alike;
    int64_t block = plan_.first_block[at(origin)];
    for (size_t rank = 0; rank < shape_of(origin).blocks.size(); ++rank) {
      if (shape_of(origin).blocks[rank] == 0) continue;
      alike[senders(origin, block++)].push_back(static_cast<Rank>(rank));
    }
    for (const auto& [order, ranks] : alike) {
      for (size_t i = 0; i < ranks.size(); ++i) {
        spell(origin, in_a_row(own, plan_.parts / own.shares[at(ranks[i])], ranks[i]), order,
              {static_cast<int64_t>(i), static_cast<int64_t>(ranks.size())});
      }
    }
  }

  /// The blocks of a host; blocks with the same path are combined.
  void spell_free(int32_t origin) {
    const Packing& own = shape_of(origin).own;
    const std::vector<Branch> first = in_a_row(own, plan_.parts / trees_of(own));
    std::set<int64_t> turns = {plan_.first_block[at(origin)], plan_.first_block[at(origin + 1)]};
    for (const HostTransfer& transfer : plan_.transfers) {
      for (const Span& span : transfer.blocks) turns.insert({span.first, span.last});
    }
    for (auto turn = turns.find(plan_.first_block[at(origin)]); *turn < plan_.first_block[at(origin + 1)];
         ++turn)
      spell(origin, first, senders(origin, *turn), {0, 1}, *std::next(turn) - *turn);
  }

  /// A block, or `times` blocks with the same path; `first`: its trees inside its own host.
  void spell(int32_t origin, const std::vector<Branch>& first, const Path& order, Turn turn,
             int64_t times = 1) {
    std::vector<Crossing> coming(order.size());
    std::set<int64_t> cuts = {0, plan_.parts};
    const auto cut_at = [&](int64_t part) {
      cuts.insert(std::clamp<int64_t>(part * turn.count - turn.number * plan_.parts, 0, plan_.parts));
    };
    for (const Branch& branch : first) cuts.insert(branch.first);
    cut_at(spread());
    for (size_t i = 1; i < order.size(); ++i) {
      coming[i] = crossing(order[i].second, order[i].first);
      for (const Leg& leg : coming[i].spread) cut_at(leg.first);
      for (const auto& row : coming[i].direct) {
        for (const Leg& leg : row) cut_at(leg.first);
      }
      for (const Branch& branch : foreign_[at(plan_.hosts[at(order[i].first)].shape)]) cut_at(branch.first);
    }
    for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut) {
      const Tree& inside = *covering(first, *cut).tree;
      Tree tree{rank_of(origin, inside.root), (*std::next(cut) - *cut) * times, {}};
      add(tree, origin, inside);
      const int64_t part = (turn.number * plan_.parts + *cut) / turn.count;
      for (size_t i = 1; i < order.size(); ++i) {
        if (part >= spread()) {
          for (const auto& row : coming[i].direct) tree.edges.push_back(covering(row, part).edge);
          continue;
        }
        tree.edges.push_back(covering(coming[i].spread, part).edge);
        const int32_t host = order[i].first;
        add(tree, host, *covering(foreign_[at(plan_.hosts[at(host)].shape)], part).tree);
      }
      packing_.shares[at(tree.root)] += tree.multiplicity;
      packing_.trees.push_back(std::move(tree));
    }
  }

  /// The edges of a host's tree.
  void add(Tree& tree, int32_t host, const Tree& inside) const {
    for (const TreeEdge& edge : inside.edges) {
      TreeEdge& added = tree.edges.emplace_back();
      added.from = rank_of(host, edge.from);
      added.to = rank_of(host, edge.to);
      for (const int32_t step : edge.route) added.route.push_back(plan_.hosts[at(host)].edges[at(step)]);
    }
  }

  const Network& network_;
  const ClusterPlan& plan_;
  Packing& packing_;
  std::vector<Rank> rank_at_;                 // index: node
  std::vector<std::vector<Branch>> foreign_;  // index: shape
};

}  // namespace

Result<Packing> spelled_out(const Network& network, const ClusterPlan& plan, const Rational& time) {
  if (network.ranks() > kMostSpelled) {
    return Status(Code::invalid_argument,
                  fmt::format("a plan for {} ranks would have too many moves: expected at most {} ranks",
                              network.ranks(), kMostSpelled));
  }
  Packing packing;
  Speller(network, plan, packing).spell();
  packing.bandwidth = 1 / (time * plan.parts * plan.first_block.back());
  return packing;
}

}  // namespace weir::algorithms
