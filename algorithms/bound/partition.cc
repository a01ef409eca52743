// SPDX-License-Identifier: Apache-2.0

#include "algorithms/bound/partition.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/bound/groups.h"
#include "algorithms/network/max_flow.h"
#include "src/base/index.h"
#include "src/base/types.h"

namespace weir::algorithms {
namespace {

using Flows = MaxFlow<Int128>;
constexpr Int128 kEverything = Int128{1} << 125;

/// Finds partitions whose ratio is below an assumed one.
class PartitionSearch {
 public:
  explicit PartitionSearch(const Network& network);
  /// The partition with the least sum of (entering capacity - `ratio`) over its parts. No set: all ranks in
  /// one part.
  Partition below(const Ratio& ratio);

 private:
  void assume(const Ratio& ratio);
  std::vector<Rank> tight_set(Rank rank);
  Partition parted(const std::vector<int32_t>& part_of);

  const Network& network_;
  std::vector<Edge> edges_;  // edges of the network, then one from each rank to an additional sink
  std::vector<Rank> rank_at_;
  Flows flows_;
  Ratio ratio_;
  std::vector<Int128> value_;  // index: rank; multiplied by the ratio's denominator
};

std::vector<Edge> with_sink(const Network& network) {
  std::vector<Edge> edges = network.edges;
  for (int32_t node : network.rank_nodes) edges.push_back({node, network.nodes, 0});
  return edges;
}

PartitionSearch::PartitionSearch(const Network& network)
    : network_(network),
      edges_(with_sink(network)),
      rank_at_(at(network.nodes) + 1, -1),
      flows_(network.nodes + 1, edges_),
      value_(at(network.ranks())) {
  for (Rank rank = 0; rank < network.ranks(); ++rank) rank_at_[at(network.rank_nodes[at(rank)])] = rank;
}

/// Capacities are multiplied by the denominator; initially every rank is an unlimited source.
void PartitionSearch::assume(const Ratio& ratio) {
  ratio_ = ratio;
  flows_.clear();
  for (size_t edge = 0; edge < edges_.size(); ++edge) {
    flows_.set_capacity(edge, edges_[edge].capacity * ratio.denominator);
  }
  for (int32_t node : network_.rank_nodes) flows_.set_supply(node, Flows::kUnlimited);
}

/// Assigns values to the ranks one after the other, each the largest for which no set of ranks has a total
/// above its entering capacity minus the ratio; a set with equality is tight. Tight sets that intersect can
/// be united. In the end the parts are therefore tight, and the values add up to the sum in the theorem.
Partition PartitionSearch::below(const Ratio& ratio) {
  assume(ratio);
  std::vector<int32_t> part_of(at(network_.ranks()));
  std::iota(part_of.begin(), part_of.end(), 0);
  for (Rank rank = 0; rank < network_.ranks(); ++rank) {
    std::vector<char> met(part_of.size());
    for (Rank each : tight_set(rank)) met[at(part_of[at(each)])] = 1;
    for (Rank each = 0; each <= rank; ++each) {
      if (met[at(part_of[at(each)])] != 0) part_of[at(each)] = rank;
    }
  }
  return parted(part_of);
}

/// Sets the value of `rank`; ranks before it have values, ranks after it are outside every set. A positive
/// contribution to a set is an edge to the sink, a negative one a supply.
std::vector<Rank> PartitionSearch::tight_set(Rank rank) {
  const size_t own = network_.edges.size() + at(rank);
  const int32_t node = network_.rank_nodes[at(rank)];
  flows_.clear();
  flows_.set_supply(node, 0);
  flows_.set_capacity(own, kEverything);
  const Int128 cut = flows_.run(network_.nodes, kEverything);
  Int128 earlier = 0;
  for (Rank each = 0; each < rank; ++each) earlier += std::max<Int128>(0, value_[at(each)]);
  const Int128 value = cut - earlier - ratio_.numerator;
  value_[at(rank)] = value;
  std::vector<Rank> tight;
  for (int32_t inside : flows_.sink_side()) {
    if (rank_at_[at(inside)] >= 0) tight.push_back(rank_at_[at(inside)]);
  }
  flows_.clear();
  flows_.set_capacity(own, std::max<Int128>(0, value));
  flows_.set_supply(node, std::max<Int128>(0, -value));
  return tight;
}

/// Adds to each part the switches that minimise its entering capacity.
Partition PartitionSearch::parted(const std::vector<int32_t>& part_of) {
  assume({0, 1});
  Partition partition;
  Int128 entering = 0;
  for (Rank part = 0; part < network_.ranks(); ++part) {
    const auto turn = [&](Int128 supply, Int128 capacity) {
      flows_.clear();
      for (Rank rank = 0; rank < network_.ranks(); ++rank) {
        if (part_of[at(rank)] != part) continue;
        flows_.set_supply(network_.rank_nodes[at(rank)], supply);
        flows_.set_capacity(network_.edges.size() + at(rank), capacity);
      }
    };
    if (std::find(part_of.begin(), part_of.end(), part) == part_of.end()) continue;
    turn(0, kEverything);
    entering += flows_.run(network_.nodes, kEverything);
    std::vector<int32_t> inside(flows_.sink_side().begin() + 1, flows_.sink_side().end());
    std::sort(inside.begin(), inside.end());
    partition.sets.push_back(std::move(inside));
    turn(Flows::kUnlimited, 0);
  }
  if (partition.sets.size() < 2) return {};
  partition.ratio = Ratio(entering, static_cast<Int128>(partition.sets.size()) - 1);
  return partition;
}

/// The groups that contain ranks; empty unless they contain all ranks.
std::vector<char> holders(const Network& network, std::span<const int32_t> group, int32_t groups) {
  std::vector<char> holds_rank(at(groups));
  for (int32_t node : network.rank_nodes) {
    if (group[at(node)] < 0) return {};
    holds_rank[at(group[at(node)])] = 1;
  }
  return holds_rank;
}

Int128 entering(const Network& network, std::span<const int32_t> group, const std::vector<char>& holds_rank) {
  Int128 sum = 0;
  for (const Edge& edge : network.edges) {
    const int32_t own = group[at(edge.to)];
    if (own >= 0 && own != group[at(edge.from)] && holds_rank[at(own)] != 0) sum += edge.capacity;
  }
  return sum;
}

std::vector<std::vector<int32_t>> sets_of(std::span<const int32_t> group,
                                          const std::vector<char>& holds_rank) {
  std::vector<std::vector<int32_t>> sets(holds_rank.size());
  for (size_t node = 0; node < group.size(); ++node) {
    if (group[node] >= 0 && holds_rank[at(group[node])] != 0) {
      sets[at(group[node])].push_back(static_cast<int32_t>(node));
    }
  }
  std::erase_if(sets, [](const auto& set) { return set.empty(); });
  return sets;
}

/// A grouping whose groups contain all ranks.
struct Grouping {
  std::vector<int32_t> group;  ///< index: node; -1: none
  int32_t groups = 0;
  std::ptrdiff_t holding = 0;  ///< number of groups with ranks
  Ratio ratio;                 ///< of the partition into them
};

/// Of groupings with equally many groups, keeps the narrowest.
void keep(Grouping grouping, std::vector<Grouping>& different) {
  const auto alike = std::ranges::find(different, grouping.holding, &Grouping::holding);
  if (alike == different.end()) {
    different.push_back(std::move(grouping));
  } else if (grouping.ratio < alike->ratio) {
    *alike = std::move(grouping);
  }
}

/// The wide group in which narrow groups have the least capacity for each of them, with what leaves it for
/// the rest; -1: there is none. Several such groups together are no worse than the worst of them.
int32_t narrowest_inside(const Network& network, const Grouping& wide, const Grouping& narrow) {
  std::vector<int32_t> wide_of(at(narrow.groups), -1);
  std::vector<int64_t> parts(at(wide.groups));
  for (const int32_t node : network.rank_nodes) {
    int32_t& known = wide_of[at(narrow.group[at(node)])];
    const int32_t own = wide.group[at(node)];
    if (known >= 0 && known != own) return -1;  // not nested
    if (std::exchange(known, own) < 0) ++parts[at(own)];
  }
  std::vector<Int128> capacity(at(wide.groups));
  for (const Edge& edge : network.edges) {
    const int32_t part = narrow.group[at(edge.to)];
    if (part >= 0 && part != narrow.group[at(edge.from)] && wide_of[at(part)] >= 0)
      capacity[at(wide_of[at(part)])] += edge.capacity;
    const int32_t own = wide.group[at(edge.from)];
    if (own >= 0 && own != wide.group[at(edge.to)]) capacity[at(own)] += edge.capacity;
  }
  int32_t best = -1;
  for (int32_t own = 0; own < wide.groups; ++own) {
    if (parts[at(own)] < 2) continue;
    if (best < 0 || capacity[at(own)] * parts[at(best)] < capacity[at(best)] * parts[at(own)]) best = own;
  }
  return best;
}

/// The partition into the narrow groups of one wide group, and all others as one part. No set: not found.
Partition with_one_divided(const Network& network, const Grouping& wide, const Grouping& narrow) {
  const int32_t divided = narrowest_inside(network, wide, narrow);
  if (divided < 0) return {};
  std::vector<char> inside(at(narrow.groups));
  for (const int32_t node : network.rank_nodes) {
    if (wide.group[at(node)] == divided) inside[at(narrow.group[at(node)])] = 1;
  }
  std::vector<int32_t> group(at(network.nodes), -1);
  for (size_t node = 0; node < group.size(); ++node) {
    const int32_t own = narrow.group[node];
    if (own >= 0 && inside[at(own)] != 0) {
      group[node] = own;
    } else if (wide.group[node] != divided) {
      group[node] = narrow.groups;
    }
  }
  const std::vector<char> holds_rank = holders(network, group, narrow.groups + 1);
  const auto count = std::count(holds_rank.begin(), holds_rank.end(), 1);
  if (count < 2) return {};
  return {Ratio(entering(network, group, holds_rank), count - 1), sets_of(group, holds_rank)};
}

}  // namespace

Partition narrowest_partition(const Network& network, Partition best) {
  PartitionSearch search(network);
  for (;;) {
    Partition next = search.below(best.ratio);
    if (next.sets.empty() || next.ratio >= best.ratio) return best;
    best = std::move(next);
  }
}

Partition narrow_partition(const Network& network) {
  Partition best;
  std::vector<Grouping> different;
  each_grouping(network, [&](std::span<const int32_t> group, int32_t groups) {
    const std::vector<char> holds_rank = holders(network, group, groups);
    const auto count = std::count(holds_rank.begin(), holds_rank.end(), 1);
    if (count < 2) return;
    const Ratio ratio(entering(network, group, holds_rank), count - 1);
    keep({{group.begin(), group.end()}, groups, count, ratio}, different);
    if (best.sets.empty() || ratio < best.ratio) best = {ratio, sets_of(group, holds_rank)};
  });
  for (const Grouping& wide : different) {
    for (const Grouping& narrow : different) {
      if (wide.holding >= narrow.holding) continue;
      Partition one = with_one_divided(network, wide, narrow);
      if (!one.sets.empty() && one.ratio < best.ratio) best = std::move(one);
    }
  }
  return best;
}

}  // namespace weir::algorithms
