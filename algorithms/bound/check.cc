// SPDX-License-Identifier: Apache-2.0
// Recomputes bounds from their witnesses. Shares no code with the search for them.
#include <fmt/format.h>

#include <vector>

#include "algorithms/bound/bound.h"
#include "src/base/index.h"

namespace weir::algorithms {
namespace {

/// The numbers of nodes and ranks of a set, and its capacities.
struct Counted {
  Int128 entering = 0;
  Int128 leaving = 0;
  int64_t ranks = 0;
  bool root = false;
};

Status wrong(std::string sentence) { return Status(Code::invalid_argument, std::move(sentence)); }

/// Evaluates each set. Errors: nodes that do not exist or occur twice, ranks in several sets, sets without
/// ranks.
class Count {
 public:
  Count(const Network& network, const Bound& bound)
      : sets(bound.sets.size()), network_(network), bound_(bound), rank_at_(at(network.nodes), -1) {}

  Status run() {
    for (int32_t rank = 0; rank < network_.ranks(); ++rank)
      rank_at_[at(network_.rank_nodes[at(rank)])] = rank;
    edges_at_.resize(at(network_.nodes));
    for (size_t edge = 0; edge < network_.edges.size(); ++edge) {
      edges_at_[at(network_.edges[edge].from)].push_back(edge);
      edges_at_[at(network_.edges[edge].to)].push_back(edge);
    }
    inside_.assign(at(network_.nodes), -1);
    taken_.assign(at(network_.ranks()), 0);
    for (size_t set = 0; set < sets.size(); ++set) WEIR_TRY(count(set));
    return {};
  }

  std::vector<Counted> sets;
  int64_t ranks = 0;  // number of ranks in all sets

 private:
  Status count(size_t set) {
    const auto& nodes = bound_.sets[set];
    for (int32_t node : nodes) {
      if (node < 0 || node >= network_.nodes)
        return wrong(
            fmt::format("the witness contains node {}; the network has {} nodes", node, network_.nodes));
      if (inside_[at(node)] == static_cast<int64_t>(set))
        return wrong(fmt::format("the witness contains node {} twice", node));
      inside_[at(node)] = static_cast<int64_t>(set);
      const int32_t rank = rank_at_[at(node)];
      if (rank < 0) continue;
      ++sets[set].ranks;
      ++ranks;
      if (rank == bound_.root) sets[set].root = true;
      if (taken_[at(rank)] != 0) return wrong(fmt::format("the witness has rank {} in two sets", rank));
      taken_[at(rank)] = 1;
    }
    const auto within = [&](int32_t node) { return inside_[at(node)] == static_cast<int64_t>(set); };
    for (int32_t node : nodes) {
      for (size_t edge : edges_at_[at(node)]) {
        const Edge& each = network_.edges[edge];
        if (each.to == node && !within(each.from)) sets[set].entering += each.capacity;
        if (each.from == node && !within(each.to)) sets[set].leaving += each.capacity;
      }
    }
    if (sets[set].ranks == 0) return wrong(fmt::format("set {} of the witness contains no rank", set));
    return {};
  }

  const Network& network_;
  const Bound& bound_;
  std::vector<int32_t> rank_at_;
  std::vector<std::vector<size_t>> edges_at_;
  std::vector<int64_t> inside_;  // index: node; the last set that contained it
  std::vector<char> taken_;      // index: rank
};

/// The fraction of M that must cross the border of a set with `inside` ranks in the given direction.
Ratio share(const Bound& bound, const Counted& set, int64_t all, bool into) {
  const Int128 inside = set.ranks;
  const Int128 outside = all - inside;
  const Int128 crossing = outside == 0 ? 0 : 1;
  switch (bound.collective) {
    case Collective::all_gather: return {into ? outside : inside * crossing, all};
    case Collective::reduce_scatter: return {into ? inside * crossing : outside, all};
    case Collective::all_reduce: return {crossing, 1};
    case Collective::all_to_all: return {inside * outside, all};
    case Collective::broadcast: return {set.root == into ? 0 : crossing, 1};
    case Collective::reduce: return {set.root == into ? crossing : 0, 1};
    case Collective::gather: return {set.root == into ? (into ? outside : inside) : 0, all};
    case Collective::scatter: return {set.root == into ? 0 : (into ? inside : outside), all};
    case Collective::send_recv: break;
  }
  return {};
}

/// Computes the time that the sets prove.
Result<Ratio> proven(const Network& network, const Bound& bound, const Count& count) {
  if (bound.witness == Witness::nothing) return Ratio();
  if (bound.witness == Witness::between) {
    if (bound.collective != Collective::all_reduce)
      return wrong("a partition does not bound this collective");
    for (char can : network.multicast) {
      if (can != 0) return wrong("a partition does not bound a network whose switches copy and reduce");
    }
    if (count.ranks != network.ranks()) {
      return wrong(
          fmt::format("the witness contains {} of {} ranks: expected all", count.ranks, network.ranks()));
    }
    Int128 entering = 0;
    for (const Counted& set : count.sets) entering += set.entering;
    if (entering == 0) return wrong("nothing enters the sets of the witness");
    return Ratio(2 * (static_cast<Int128>(count.sets.size()) - 1), entering);
  }
  if (count.sets.size() != 1)
    return wrong(fmt::format("the witness has {} sets: expected one", count.sets.size()));
  const Counted& set = count.sets[0];
  const bool into = bound.witness == Witness::into;
  const Int128 capacity = into ? set.entering : set.leaving;
  if (capacity == 0) return wrong("nothing crosses the border of the witness");
  const Ratio crossing = share(bound, set, network.ranks(), into);
  return Ratio(crossing.numerator, crossing.denominator * capacity);
}

}  // namespace

Status check_bound(const Network& network, const Bound& bound) {
  WEIR_TRY(check(network));
  Count count(network, bound);
  WEIR_TRY(count.run());
  auto time = proven(network, bound, count);
  if (!time.ok()) return time.status();
  if (*time == bound.time) return {};
  return wrong(fmt::format("the witness proves a time of {}, not {}", text(*time), text(bound.time)));
}

}  // namespace weir::algorithms
