// SPDX-License-Identifier: Apache-2.0

#include "algorithms/packing/arborescences.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "algorithms/packing/growth_flow.h"
#include "src/base/index.h"

namespace weir::algorithms {
namespace {

struct Hop {
  Rank from;
  Rank to;
};

/// Identical trees under construction.
struct Class {
  Rank root = 0;
  int64_t multiplicity = 0;
  int place = 0;              // position in the flow
  std::vector<Rank> reached;  // in the order of arrival
  size_t spent = 0;           // number of its first ranks that cannot send to any more ranks
  std::vector<int> depth;     // index: rank; -1: not reached
  std::vector<Hop> hops;
};

std::vector<std::vector<int64_t>> room_in(const LogicalGraph& graph) {
  std::vector<std::vector<int64_t>> room;
  for (int from : graph.network().rank_nodes) {
    room.emplace_back();
    for (int to : graph.network().rank_nodes) room.back().push_back(graph.capacity(from, to));
  }
  return room;
}

/// Maximum number of waiting classes; beyond it one class grows to the end at once, because flows take longer
/// the more classes have begun.
constexpr size_t kGrowing = 64;

class Grower {
 public:
  Grower(LogicalGraph& graph, const std::vector<int64_t>& shares)
      : graph_(graph), ranks_(static_cast<int>(shares.size())), flow_(room_in(graph)) {
    for (Rank root = 0; root < ranks_; ++root) {
      if (shares[at(root)] == 0) continue;
      Class& seed = growing_.emplace_back();
      seed.root = root;
      seed.multiplicity = shares[at(root)];
      seed.place = flow_.add_trees({root}, seed.multiplicity);
      seed.reached = {root};
      seed.depth.assign(at(ranks_), -1);
      seed.depth[at(root)] = 0;
    }
  }

  Result<std::vector<Tree>> run() {
    while (!growing_.empty()) {
      Class trees = std::move(growing_.front());
      growing_.pop_front();
      WEIR_TRY(grow_on(trees));
      if (trees.reached.size() < at(ranks_)) {
        growing_.push_back(std::move(trees));
      } else {
        flow_.remove(trees.place);
        lay_routes(trees);
      }
    }
    std::stable_sort(trees_.begin(), trees_.end(),
                     [](const Tree& a, const Tree& b) { return a.root < b.root; });
    return std::move(trees_);
  }

 private:
  /// Grows one class by a level; to the end if many others wait.
  Status grow_on(Class& trees) {
    int level = -1;
    while (trees.reached.size() < at(ranks_)) {
      const auto [hop, fits] = best_hop(trees);
      if (fits == 0) {
        return {Code::internal_error, fmt::format("the trees of rank {} cannot grow beyond {} ranks",
                                                  trees.root, trees.reached.size())};
      }
      const int depth = trees.depth[at(hop.from)];
      if (level >= 0 && depth != level && growing_.size() < kGrowing) break;
      level = depth;
      if (fits < trees.multiplicity) part(trees, fits);
      flow_.take(hop.from, hop.to, fits);
      flow_.reach(trees.place, hop.to);
      trees.depth[at(hop.to)] = depth + 1;
      trees.reached.push_back(hop.to);
      trees.hops.push_back(hop);
    }
    return {};
  }

  /// Splits off `count` trees that continue; the others wait.
  void part(Class& trees, int64_t going) {
    Class& rest = growing_.emplace_back(trees);
    rest.multiplicity -= going;
    trees.multiplicity = going;
    flow_.shrink(trees.place, going);
    rest.place = flow_.add_trees(rest.reached, rest.multiplicity);
  }

  /// The first hop, beginning with the rank reached first, that all trees of the class can take; else the hop
  /// that most of them can take. Hops that are impossible now stay impossible.
  std::pair<Hop, int64_t> best_hop(Class& trees) {
    std::pair<Hop, int64_t> best{{}, 0};
    for (size_t i = trees.spent; i < trees.reached.size(); ++i) {
      const Rank from = trees.reached[i];
      bool spent = true;
      for (int step = 1; step < ranks_; ++step) {
        const Rank to = (from + step) % ranks_;
        if (trees.depth[at(to)] >= 0 || flow_.room(from, to) == 0) continue;
        const int64_t fits = flow_.fitting(trees.place, from, to, best.second);
        spent = spent && fits == 0;
        if (fits <= best.second) continue;
        best = {{from, to}, fits};
        if (fits == trees.multiplicity) return best;
      }
      if (spent && i == trees.spent) ++trees.spent;
    }
    return best;
  }

  /// Assigns one route to every hop; trees whose hops take several routes are split again.
  void lay_routes(const Class& trees) {
    const auto& nodes = graph_.network().rank_nodes;
    int64_t left = trees.multiplicity;
    while (left > 0) {
      int64_t part = left;
      for (const Hop& hop : trees.hops) {
        part = std::min(part, graph_.widest(nodes[at(hop.from)], nodes[at(hop.to)]));
      }
      Tree& tree = trees_.emplace_back();
      tree.root = trees.root;
      tree.multiplicity = part;
      for (const Hop& hop : trees.hops) {
        tree.edges.push_back({hop.from, hop.to, graph_.take(nodes[at(hop.from)], nodes[at(hop.to)], part)});
      }
      left -= part;
    }
  }

  LogicalGraph& graph_;
  const int ranks_;
  GrowthFlow flow_;
  std::deque<Class> growing_;
  std::vector<Tree> trees_;
};

}  // namespace

Result<std::vector<Tree>> pack_trees(LogicalGraph& graph, const std::vector<int64_t>& shares) {
  return Grower(graph, shares).run();
}

}  // namespace weir::algorithms
