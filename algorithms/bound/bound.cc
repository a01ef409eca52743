// SPDX-License-Identifier: Apache-2.0

#include "algorithms/bound/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "algorithms/bound/cut.h"
#include "algorithms/bound/groups.h"
#include "algorithms/bound/grown_sets.h"
#include "algorithms/bound/partition.h"
#include "src/base/index.h"

namespace weir::algorithms {
namespace {

/// A collective described by the data that some ranks send to others as a whole.
struct Demand {
  std::vector<int64_t> weights;  ///< index: sender
  std::vector<Rank> sinks;
  Direction direction = Direction::along;
  int64_t shares = 1;  ///< M is this multiple of the data of weight 1
};

Demand demand_of(Collective collective, Rank root, int ranks) {
  Demand demand;
  const bool one_sender = collective == Collective::broadcast || collective == Collective::reduce;
  const bool one_sink = collective == Collective::gather || collective == Collective::scatter;
  demand.weights.assign(at(ranks), one_sender ? 0 : 1);
  if (one_sender) demand.weights[at(root)] = 1;
  demand.sinks.resize(at(ranks));
  std::iota(demand.sinks.begin(), demand.sinks.end(), 0);
  if (one_sink) demand.sinks = {root};
  // A reduction is a broadcast run backwards, and a gather is a scatter run backwards.
  const bool against = collective == Collective::reduce || collective == Collective::reduce_scatter ||
                       collective == Collective::scatter;
  demand.direction = against ? Direction::against : Direction::along;
  demand.shares = one_sender ? 1 : ranks;
  return demand;
}

Result<Bound> by_cut(const Network& network, Collective collective, Rank root) {
  const Demand demand = demand_of(collective, root, network.ranks());
  auto cut = narrowest_cut(network, demand.weights, demand.sinks, demand.direction);
  if (!cut.ok()) return cut.status();
  const Ratio time(cut->ratio.denominator, demand.shares * cut->ratio.numerator);
  const bool along = demand.direction == Direction::along;
  return Bound{collective, root, time, along ? Witness::into : Witness::out_of, {std::move(cut->inside)}};
}

/// All bytes must enter and leave every set that contains some of the ranks: the requirement of a broadcast
/// and a reduce with any root.
Result<Bound> all_reduce_bound(const Network& network) {
  auto best = by_cut(network, Collective::broadcast, 0);
  if (!best.ok()) return best;
  auto reduce = by_cut(network, Collective::reduce, 0);
  if (!reduce.ok()) return reduce;
  if (reduce->time > best->time) best = std::move(reduce);
  best->collective = Collective::all_reduce;
  const bool in_switch =
      std::any_of(network.multicast.begin(), network.multicast.end(), [](char can) { return can; });
  if (in_switch) return best;
  Partition partition = narrow_partition(network);
  if (network.ranks() <= kExactPartition) partition = narrowest_partition(network, std::move(partition));
  const Ratio time(2 * partition.ratio.denominator, partition.ratio.numerator);
  if (time > best->time) {
    best = Bound{Collective::all_reduce, 0, time, Witness::between, std::move(partition.sets)};
  }
  return best;
}

/// Numbers of ranks of a group and the capacity across its border.
struct GroupBorder {
  int64_t ranks = 0;
  Int128 into = 0;
  Int128 out_of = 0;
};

/// Every rank inside has a message for every rank outside, and the reverse.
class AllToAll {
 public:
  explicit AllToAll(const Network& network) : network_(network) {}

  void consider(std::span<const int32_t> group, int32_t groups) {
    std::vector<GroupBorder> borders(at(groups));
    for (int32_t node : network_.rank_nodes) {
      if (group[at(node)] >= 0) ++borders[at(group[at(node)])].ranks;
    }
    for (const Edge& edge : network_.edges) {
      const int32_t from = group[at(edge.from)];
      const int32_t to = group[at(edge.to)];
      if (from == to) continue;
      if (from >= 0) borders[at(from)].out_of += edge.capacity;
      if (to >= 0) borders[at(to)].into += edge.capacity;
    }
    for (int32_t each = 0; each < groups; ++each) {
      const GroupBorder& border = borders[at(each)];
      const Int128 messages = static_cast<Int128>(border.ranks) * (network_.ranks() - border.ranks);
      if (messages == 0) continue;
      take(Ratio(messages, network_.ranks() * border.into), Witness::into, group, each);
      take(Ratio(messages, network_.ranks() * border.out_of), Witness::out_of, group, each);
    }
  }
  Bound best{Collective::all_to_all, 0, {}, Witness::nothing, {}};

 private:
  void take(const Ratio& time, Witness witness, std::span<const int32_t> group, int32_t own) {
    if (time <= best.time) return;
    best.time = time;
    best.witness = witness;
    best.sets.assign(1, {});
    for (int32_t node = 0; node < network_.nodes; ++node) {
      if (group[at(node)] == own) best.sets[0].push_back(node);
    }
  }

  const Network& network_;
};

Result<Bound> all_to_all_bound(const Network& network) {
  AllToAll search(network);
  // These searches also detect ranks that cannot reach each other, so that no border below is 0.
  for (Collective other :
       {Collective::all_gather, Collective::reduce_scatter, Collective::broadcast, Collective::reduce}) {
    auto bound = by_cut(network, other, 0);
    if (!bound.ok()) return bound;
    std::vector<int32_t> group(at(network.nodes), -1);
    for (int32_t node : bound->sets[0]) group[at(node)] = 0;
    search.consider(group, 1);
  }
  each_grouping(network,
                [&](std::span<const int32_t> group, int32_t groups) { search.consider(group, groups); });
  each_grown_set(network, [&](std::span<const int32_t> inside) { search.consider(inside, 1); });
  return std::move(search.best);
}

}  // namespace

Result<Bound> lower_bound(const Network& network, Collective collective, Rank root) {
  WEIR_TRY(check(network));
  if (collective == Collective::send_recv) {
    return Status(Code::invalid_argument, "a bound on send_recv: expected a collective of all ranks");
  }
  if (!has_root(collective)) root = 0;
  if (root < 0 || root >= network.ranks()) {
    return Status(Code::invalid_argument,
                  fmt::format("root {} of {} over {} ranks: expected one of the ranks", root,
                              name(collective), network.ranks()));
  }
  if (network.ranks() == 1) return Bound{collective, root, {}, Witness::nothing, {}};
  if (collective == Collective::all_reduce) return all_reduce_bound(network);
  if (collective == Collective::all_to_all) return all_to_all_bound(network);
  return by_cut(network, collective, root);
}

}  // namespace weir::algorithms
