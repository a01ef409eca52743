#include "algorithms/packing/arborescences.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <optional>
#include <utility>

#include "algorithms/net/max_flow.h"

namespace weir::algorithms {
namespace {

size_t at(int place) { return static_cast<size_t>(place); }

struct Hop {
  Rank from;
  Rank to;
};

/// Equal trees that are growing.
struct Class {
  Rank root = 0;
  int64_t multiplicity = 0;
  std::vector<Rank> reached;  // in the order of arrival
  std::vector<int> depth;     // by rank; -1: not reached
  std::vector<Hop> hops;
};

class Grower {
 public:
  Grower(LogicalGraph& graph, const std::vector<int64_t>& shares)
      : graph_(graph), ranks_(static_cast<int>(shares.size())), waiting_(shares), room_(shares.size()) {
    const auto& nodes = graph.network().rank_nodes;
    for (Rank x = 0; x < ranks_; ++x) {
      for (Rank y = 0; y < ranks_; ++y) room_[at(x)].push_back(graph.capacity(nodes[at(x)], nodes[at(y)]));
    }
  }

  Result<std::vector<Tree>> run() {
    for (Rank root = 0; root < ranks_; ++root) {
      if (waiting_[at(root)] == 0) continue;
      Class seed{root, std::exchange(waiting_[at(root)], 0), {root}, std::vector<int>(at(ranks_), -1), {}};
      seed.depth[at(root)] = 0;
      parted_.push_back(std::move(seed));
      while (!parted_.empty()) {
        Class grown = std::move(parted_.back());
        parted_.pop_back();
        build_flow();
        WEIR_TRY(grow(grown));
        lay_routes(grown);
      }
    }
    return std::move(trees_);
  }

 private:
  Status grow(Class& trees) {
    while (trees.reached.size() < at(ranks_)) {
      const auto [hop, fits] = best_hop(trees);
      if (fits == 0) {
        return {Code::internal_error, fmt::format("the trees of rank {} cannot grow beyond {} ranks",
                                                  trees.root, trees.reached.size())};
      }
      room_[at(hop.from)][at(hop.to)] -= fits;
      if (fits < trees.multiplicity) {
        parted_.push_back(trees);
        parted_.back().multiplicity -= fits;
        trees.multiplicity = fits;
        build_flow();
      } else {
        flow_->set_capacity(numbers_[at(hop.from)][at(hop.to)], room_[at(hop.from)][at(hop.to)]);
      }
      trees.depth[at(hop.to)] = trees.depth[at(hop.from)] + 1;
      trees.reached.push_back(hop.to);
      trees.hops.push_back(hop);
    }
    return {};
  }

  /// The first hop, from the rank reached first on, that all trees of the class can take; else the one that
  /// most of them can.
  std::pair<Hop, int64_t> best_hop(const Class& trees) {
    std::pair<Hop, int64_t> best{{}, 0};
    for (Rank from : trees.reached) {
      for (int i = 1; i < ranks_; ++i) {
        const Rank to = (from + i) % ranks_;
        if (trees.depth[at(to)] >= 0) continue;
        const int64_t most =
            std::min({trees.multiplicity, room_[at(from)][at(to)], known_limit(trees, from, to)});
        if (most <= best.second) continue;
        const int64_t fits = fitting(from, to, most);
        if (fits > best.second) best = {{from, to}, fits};
        if (fits == trees.multiplicity) return best;
      }
    }
    return best;
  }

  /// How many trees, at most `most`, may take the edge. For every set X of ranks that the edge enters, what
  /// enters X must still suffice for all other trees that have not reached X: a flow, in which a tree counts
  /// as a supply of all it has reached, and `from` has all it wants.
  int64_t fitting(Rank from, Rank to, int64_t most) {
    flow_->clear();
    const int64_t supply = flow_->supply(from);
    flow_->set_supply(from, MaxFlow<int64_t>::kUnlimited);
    const int64_t needed = others_ + most;
    const int64_t flow = flow_->run(to, needed);
    if (flow < needed) remember(flow - others_);
    flow_->clear();
    flow_->set_supply(from, supply);
    return std::max<int64_t>(0, flow - (needed - most));
  }

  /// A set of ranks, and how much more can enter it than other trees need. That never grows again.
  struct Limit {
    std::vector<char> inside;
    int64_t slack;
  };

  void remember(int64_t slack) {
    Limit limit{std::vector<char>(at(ranks_)), slack};
    for (int32_t node : flow_->sink_side()) {
      if (node < ranks_) limit.inside[at(node)] = 1;
    }
    limits_.push_front(std::move(limit));
    if (limits_.size() > kLimits) limits_.pop_back();
  }

  int64_t known_limit(const Class& trees, Rank from, Rank to) const {
    int64_t least = trees.multiplicity;
    for (const Limit& limit : limits_) {
      if (limit.slack >= least || !limit.inside[at(to)] || limit.inside[at(from)]) continue;
      const bool met = std::any_of(trees.reached.begin(), trees.reached.end(),
                                   [&](Rank rank) { return limit.inside[at(rank)] != 0; });
      if (met) least = limit.slack;
    }
    return least;
  }

  /// The flow network: the room that is left, and the trees that are not grown now.
  void build_flow() {
    others_ = std::accumulate(waiting_.begin(), waiting_.end(), int64_t{0});
    for (const Class& trees : parted_) others_ += trees.multiplicity;
    std::vector<Edge> edges;
    numbers_.assign(at(ranks_), std::vector<size_t>(at(ranks_)));
    for (Rank from = 0; from < ranks_; ++from) {
      for (Rank to = 0; to < ranks_; ++to) {
        if (room_[at(from)][at(to)] == 0) continue;
        numbers_[at(from)][at(to)] = edges.size();
        edges.push_back({from, to, room_[at(from)][at(to)]});
      }
    }
    int32_t node = ranks_;
    for (const Class& trees : parted_) {
      for (Rank rank : trees.reached) edges.push_back({node, rank, trees.multiplicity});
      ++node;
    }
    flow_.emplace(node, edges);
    for (Rank rank = 0; rank < ranks_; ++rank) flow_->set_supply(rank, waiting_[at(rank)]);
    for (size_t i = 0; i < parted_.size(); ++i) {
      flow_->set_supply(ranks_ + static_cast<int32_t>(i), parted_[i].multiplicity);
    }
  }

  /// Gives every hop one route; trees whose hops take several routes part once more.
  void lay_routes(const Class& trees) {
    const auto& nodes = graph_.network().rank_nodes;
    int64_t left = trees.multiplicity;
    while (left > 0) {
      int64_t part = left;
      for (const Hop& hop : trees.hops)
        part = std::min(part, graph_.widest(nodes[at(hop.from)], nodes[at(hop.to)]));
      Tree& tree = trees_.emplace_back();
      tree.root = trees.root;
      tree.multiplicity = part;
      for (const Hop& hop : trees.hops) {
        tree.edges.push_back({hop.from, hop.to, graph_.take(nodes[at(hop.from)], nodes[at(hop.to)], part)});
      }
      left -= part;
    }
  }

  static constexpr size_t kLimits = 128;

  LogicalGraph& graph_;
  const int ranks_;
  std::vector<int64_t> waiting_;            // by root: trees that have not begun
  std::vector<Class> parted_;               // trees that have begun and wait
  std::vector<std::vector<int64_t>> room_;  // from rank to rank, for trees to come
  int64_t others_ = 0;                      // all trees that wait
  std::optional<MaxFlow<int64_t>> flow_;
  std::vector<std::vector<size_t>> numbers_;  // from rank to rank: the edge in flow_
  std::deque<Limit> limits_;
  std::vector<Tree> trees_;
};

}  // namespace

Result<std::vector<Tree>> pack_trees(LogicalGraph& graph, const std::vector<int64_t>& shares) {
  return Grower(graph, shares).run();
}

}  // namespace weir::algorithms
