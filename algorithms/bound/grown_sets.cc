// SPDX-License-Identifier: Apache-2.0

#include "algorithms/bound/grown_sets.h"

#include <algorithm>
#include <vector>

#include "src/base/index.h"

namespace weir::algorithms {
namespace {

/// A set, the capacities across its border, and its ranks.
class GrowingSet {
 public:
  /// `all_count`: all nodes count as ranks.
  GrowingSet(const Network& network, bool all_count)
      : nodes_(network.nodes),
        ranks_(all_count ? network.nodes : network.ranks()),
        inside_(at(nodes_), -1),
        is_rank_(at(nodes_), static_cast<char>(all_count)) {
    capacity_.resize(at(nodes_) * at(nodes_));
    for (const Edge& edge : network.edges)
      capacity_[at(edge.from) * at(nodes_) + at(edge.to)] += edge.capacity;
    for (const int32_t node : network.rank_nodes) is_rank_[at(node)] = 1;
  }

  std::span<const int32_t> inside() const { return inside_; }
  /// The border's capacity in its narrower direction per pair of ranks; infinite without pairs.
  double value() const { return value_of(into_, out_of_, ranks_inside_); }
  double value_with_moved(int32_t node) const {
    const Change change = change_of(node);
    return value_of(into_ + change.into, out_of_ + change.out_of, ranks_inside_ + change.ranks);
  }
  void move(int32_t node) {
    const Change change = change_of(node);
    into_ += change.into;
    out_of_ += change.out_of;
    ranks_inside_ += change.ranks;
    inside_[at(node)] = inside_[at(node)] == 0 ? -1 : 0;
  }

 private:
  struct Change {
    double into = 0;
    double out_of = 0;
    int ranks = 0;
  };

  double capacity(int32_t from, int32_t to) const { return capacity_[at(from) * at(nodes_) + at(to)]; }
  double value_of(double into, double out_of, int ranks) const {
    const double pairs = static_cast<double>(ranks) * (ranks_ - ranks);
    return pairs > 0 ? std::min(into, out_of) / pairs : 1e300;
  }
  /// Of moving the node to the other side: its edges to one side begin to cross the border, those to the
  /// other side end.
  Change change_of(int32_t node) const {
    Change change;
    const bool enters = inside_[at(node)] != 0;
    for (int32_t other = 0; other < nodes_; ++other) {
      if (other == node) continue;
      const bool within = inside_[at(other)] == 0;
      const double sign = within == enters ? -1 : 1;
      (within ? change.out_of : change.into) += sign * capacity(other, node);
      (within ? change.into : change.out_of) += sign * capacity(node, other);
    }
    if (is_rank_[at(node)] != 0) change.ranks = enters ? 1 : -1;
    return change;
  }

  int32_t nodes_;
  int ranks_;
  std::vector<int32_t> inside_;
  std::vector<char> is_rank_;
  std::vector<double> capacity_;  // index: from, to
  double into_ = 0;
  double out_of_ = 0;
  int ranks_inside_ = 0;
};

/// The node of those that may move whose move gives the least value, or -1.
template <typename May>
int32_t best_move(const GrowingSet& set, May may) {
  int32_t best = -1;
  double least = 0;
  for (int32_t node = 0; node < std::ssize(set.inside()); ++node) {
    if (!may(node)) continue;
    const double value = set.value_with_moved(node);
    if (best >= 0 && value >= least) continue;
    best = node;
    least = value;
  }
  return best;
}

/// The best of the sets on the way from one node to all.
GrowingSet grown_from(const GrowingSet& empty, int32_t start) {
  GrowingSet set = empty;
  set.move(start);
  GrowingSet best = set;
  for (;;) {
    const int32_t next = best_move(set, [&](int32_t node) { return set.inside()[at(node)] != 0; });
    if (next < 0) return best;
    set.move(next);
    if (set.value() < best.value()) best = set;
  }
}

/// GPUs that only forward give no pairs, so that sets of ranks do not grow over them.
constexpr int kMostCountedNodes = 64;

/// Roundings of the sums must not make moves go back and forth.
constexpr double kBetter = 1 - 1e-9;

}  // namespace

void each_grown_set(const Network& network,
                    const std::function<void(std::span<const int32_t> inside)>& visit) {
  if (network.nodes > kMostGrownNodes) return;
  const GrowingSet empty(network, false);
  for (const bool all_count : {false, true}) {
    if (all_count && (network.nodes == network.ranks() || network.nodes > kMostCountedNodes)) return;
    const GrowingSet begin(network, all_count);
    for (int32_t start = 0; start < network.nodes; ++start) {
      GrowingSet set = empty;
      const GrowingSet grown = grown_from(begin, start);
      for (int32_t node = 0; node < network.nodes; ++node)
        if (grown.inside()[at(node)] == 0) set.move(node);
      for (;;) {
        const int32_t node = best_move(set, [](int32_t) { return true; });
        if (set.value_with_moved(node) >= set.value() * kBetter) break;
        set.move(node);
      }
      visit(set.inside());
    }
  }
}

}  // namespace weir::algorithms
