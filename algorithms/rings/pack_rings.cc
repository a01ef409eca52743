// SPDX-License-Identifier: Apache-2.0

#include "algorithms/rings/pack_rings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "algorithms/network/max_flow.h"
#include "algorithms/rings/ring_capacity.h"

namespace weir::algorithms {
namespace {

using Widths = std::vector<int64_t>;  // index: edge

/// A bandwidth of every ring, capacity / parts, and an upper bound of the number of rings.
struct Scale {
  int64_t capacity = 0;
  int parts = 1;
  int64_t hoped = 0;

  /// The capacity that this number of rings has together.
  Ratio total(int64_t rings) const { return {static_cast<Int128>(capacity) * rings, parts}; }
};

/// Considers only edges that rings can use.
Widths capacities_of(const Network& network) {
  const RingCapacity capacity(network);
  Widths widths;
  for (size_t e = 0; e < network.edges.size(); ++e)
    widths.push_back(capacity.is_used(e) ? network.edges[e].capacity : 0);
  return widths;
}

/// The number of rings that fit into each edge; no more than `most`, which are all.
Widths widths_at(const Widths& capacities, const Scale& scale, int most) {
  Widths widths;
  for (const int64_t capacity : capacities) {
    const Int128 fit = static_cast<Int128>(capacity) * scale.parts / scale.capacity;
    widths.push_back(static_cast<int64_t>(std::min<Int128>(fit, most)));
  }
  return widths;
}

/// Every ring enters and leaves every rank.
int64_t narrowest_rank(const Network& network, const Widths& widths) {
  std::vector<int64_t> out(static_cast<size_t>(network.nodes)), in(out);
  for (size_t e = 0; e < widths.size(); ++e) {
    out[static_cast<size_t>(network.edges[e].from)] += widths[e];
    in[static_cast<size_t>(network.edges[e].to)] += widths[e];
  }
  int64_t least = INT64_MAX;
  for (const int32_t node : network.rank_nodes)
    least = std::min({least, out[static_cast<size_t>(node)], in[static_cast<size_t>(node)]});
  return least;
}

/// Every ring crosses, in both directions, every cut that has ranks on both sides.
int64_t narrowest_cut(const Network& network, const Widths& widths) {
  int64_t least = narrowest_rank(network, widths);
  const int32_t first = network.rank_nodes[0];
  for (const Direction direction : {Direction::along, Direction::against}) {
    MaxFlow<int64_t> flow(network.nodes, network.edges, direction);
    flow.set_capacities(widths);
    flow.set_supply(first, MaxFlow<int64_t>::kUnlimited);
    for (const int32_t node : network.rank_nodes) {
      if (node == first || least == 0) continue;
      least = std::min(least, flow.run(node, least));
      flow.clear();
    }
  }
  return least;
}

/// The bandwidths to try, the widest rings first.
std::vector<Scale> scales_of(const Network& network, const Widths& capacities, int most) {
  const std::set<int64_t> different(capacities.begin(), capacities.end());
  std::map<Ratio, Scale> scales;  // key: the bandwidth of a ring, so that equal ones occur once
  for (const int64_t capacity : different) {
    for (int parts = 1; capacity > 0 && parts <= most; ++parts) {
      Scale scale{capacity, parts};
      const Widths widths = widths_at(capacities, scale, most);
      scale.hoped = std::min<int64_t>(most, narrowest_rank(network, widths));
      if (scale.hoped > 0) scales.emplace(scale.total(1), scale);
    }
  }
  std::vector<Scale> sorted;
  for (auto scale = scales.rbegin(); scale != scales.rend(); ++scale) sorted.push_back(scale->second);
  return sorted;
}

/// Adds rings while any can be found; then removes some and searches for others.
class Search {
 public:
  explicit Search(const Network& network) : capacity_(network), ranks_(network.ranks()) {}

  /// At most `most` rings, within the given number of steps.
  std::vector<RoutedRing> run(const Widths& widths, int64_t most, int64_t& steps) {
    capacity_.set(widths);
    std::vector<RoutedRing> rings, best;
    int failures = 0;
    while (static_cast<int64_t>(rings.size()) < most && steps > 0) {
      if (add(rings, steps)) {
        failures = 0;
        if (rings.size() > best.size()) best = rings;
      } else if (++failures == kFailedTries) {
        failures = 0;
        remove_some(rings);
        if (best.empty()) break;  // not even one ring was found
      }
    }
    return best;
  }

 private:
  static constexpr int kFailedTries = 3;
  static constexpr int64_t kStepsPerRank = 50;  // limit per search, which otherwise might not end

  bool add(std::vector<RoutedRing>& rings, int64_t& steps) {
    std::optional<RoutedRing> found;
    // Links usually have equal widths in both directions, so the reverse of each ring is tried.
    if (!rings.empty() && below(2) == 0) {
      steps -= ranks_;
      found = capacity_.take_reverse(rings.back());
    }
    if (!found) {
      int64_t some = std::min(steps, kStepsPerRank * ranks_);
      steps -= some;
      found = capacity_.take(static_cast<Rank>(below(static_cast<uint32_t>(ranks_))), some, random_);
      steps += some;
    }
    if (found) rings.push_back(std::move(*found));
    return found.has_value();
  }

  void remove_some(std::vector<RoutedRing>& rings) {
    for (uint32_t count = 1 + below(3); count > 0 && !rings.empty(); --count) {
      std::swap(rings[below(static_cast<uint32_t>(rings.size()))], rings.back());
      capacity_.give_back(rings.back());
      rings.pop_back();
    }
  }

  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

  RingCapacity capacity_;
  const int ranks_;
  std::mt19937 random_{20};
};

/// Rings that begin with rank 0, equal ones combined, sorted.
std::vector<PackedRing> counted(const std::vector<RoutedRing>& rings) {
  std::map<Ring, int> counts;
  for (const RoutedRing& ring : rings) {
    Ring order = ring.order;
    std::rotate(order.begin(), std::find(order.begin(), order.end(), 0), order.end());
    ++counts[order];
  }
  std::vector<PackedRing> packed;
  for (const auto& [order, count] : counts) packed.push_back({order, count});
  return packed;
}

Status refuse(std::string sentence) { return {Code::invalid_argument, std::move(sentence)}; }

}  // namespace

int RingPacking::count() const {
  int count = 0;
  for (const PackedRing& ring : rings) count += ring.multiplicity;
  return count;
}

Result<RingPacking> pack_rings(const Network& network, const RingGoal& goal) {
  WEIR_TRY(check(network));
  if (network.ranks() < 2 || network.ranks() > kMostRingRanks)
    return refuse(fmt::format("rings over {} ranks: expected 2 to {}", network.ranks(), kMostRingRanks));
  const Widths capacities = capacities_of(network);
  RingPacking best;
  best.bound = {narrowest_cut(network, capacities), 1};
  Search search(network);
  int64_t left = goal.most_steps;
  for (Scale scale : scales_of(network, capacities, goal.most_rings)) {
    if (left <= 0 || best.total == best.bound) break;
    if (scale.total(scale.hoped) <= best.total) continue;
    const Widths widths = widths_at(capacities, scale, goal.most_rings);
    scale.hoped = std::min(scale.hoped, narrowest_cut(network, widths));
    if (scale.total(scale.hoped) <= best.total) continue;
    int64_t steps = left / 4 + 1;
    left -= steps;
    const std::vector<RoutedRing> rings = search.run(widths, scale.hoped, steps);
    left += steps;
    const Ratio total = scale.total(static_cast<int64_t>(rings.size()));
    if (total <= best.total) continue;
    best.rings = counted(rings);
    best.bandwidth = scale.total(1);
    best.total = total;
  }
  if (best.rings.empty()) return refuse("no ring was found that visits every rank once");
  return best;
}

Rings spelled_out(const RingPacking& packing) {
  Rings rings;
  for (const PackedRing& ring : packing.rings)
    rings.insert(rings.end(), static_cast<size_t>(ring.multiplicity), ring.order);
  return rings;
}

}  // namespace weir::algorithms
