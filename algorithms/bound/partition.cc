// SPDX-License-Identifier: Apache-2.0

#include "algorithms/bound/partition.h"

#include <algorithm>
#include <numeric>
#include <span>

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
  each_grouping(network, [&](std::span<const int32_t> group, int32_t groups) {
    const std::vector<char> holds_rank = holders(network, group, groups);
    const auto count = std::count(holds_rank.begin(), holds_rank.end(), 1);
    if (count < 2) return;
    const Ratio ratio(entering(network, group, holds_rank), count - 1);
    if (best.sets.empty() || ratio < best.ratio) best = {ratio, sets_of(group, holds_rank)};
  });
  return best;
}

}  // namespace weir::algorithms
