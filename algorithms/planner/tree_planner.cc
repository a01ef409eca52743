// SPDX-License-Identifier: Apache-2.0

#include "algorithms/planner/tree_planner.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>
#include <vector>

#include "algorithms/proof/tree_proof.h"
#include "algorithms/spanning/two_way.h"

namespace weir::algorithms {
namespace {

/// Trees of one direction, and the time per byte of M that they take.
struct Half {
  Packed packed;
  Rational time;
};

/// `part`: the number of shares into which the whole is divided: the number of ranks if all send, 1 if one
/// does.
Result<Half> pack_half(const Network& network, const Bound& bound, const std::vector<int64_t>& weights,
                       int parts, const PackingGoal& goal) {
  auto packed = pack(network, weights, exactly(bound.bandwidth()) / parts, goal);
  WEIR_TRY(packed.status());
  WEIR_TRY(check_packing(network, packed->packing).status());
  Rational time = 1 / (packed->packing.bandwidth * packed->trees_per_root * parts);
  return Half{std::move(*packed), std::move(time)};
}

/// The bound of the half that only sums or only spreads.
Result<Bound> half_bound(const Network& network, const TreePlan& trees, bool up) {
  if (has_root(trees.collective))
    return lower_bound(network, up ? Collective::reduce : Collective::broadcast, trees.root);
  return lower_bound(network, up ? Collective::reduce_scatter : Collective::all_gather);
}

/// Sums, then spreads, as far as the collective does either.
Status pack_halves(const Network& network, const PackingGoal& goal, TreePlan& trees) {
  const bool rooted = has_root(trees.collective);
  const int parts = rooted ? 1 : network.ranks();
  std::vector<int64_t> weights(static_cast<size_t>(network.ranks()), rooted ? 0 : 1);
  if (rooted) weights[static_cast<size_t>(trees.root)] = 1;
  for (const bool up : {true, false}) {
    if (!(up ? reduces(trees.collective) : spreads(trees.collective))) continue;
    const auto bound = half_bound(network, trees, up);
    WEIR_TRY(bound.status());
    auto half = pack_half(up ? reversed(network) : network, *bound, weights, parts, goal);
    WEIR_TRY(half.status());
    (up ? trees.up : trees.down) = std::move(half->packed);
    trees.time += half->time;
  }
  return {};
}

/// Sums and spreads at the same time.
Status pack_free_roots(const Network& network, const PackingGoal& goal, TreePlan& trees) {
  auto both = pack_two_way(network, exactly(trees.bound.bandwidth()), goal);
  WEIR_TRY(both.status());
  WEIR_TRY(check_both(network, both->up.packing, both->down.packing).status());
  const std::vector<int64_t>& shares = both->down.packing.shares;
  trees.time = 1 / (both->down.packing.bandwidth * std::accumulate(shares.begin(), shares.end(), int64_t{0}));
  trees.up = std::move(both->up);
  trees.down = std::move(both->down);
  return {};
}

/// Tries one way, and the other if the first is not optimal. If links are slower in one direction, there may
/// be no trees with free roots.
Status pack_all_reduce(const Network& network, const PackingGoal& goal, TreePlan& trees) {
  const Rational limit = exactly(trees.bound.time);
  Rational equal_blocks = 0;
  for (const bool up : {true, false}) {
    const auto half = half_bound(network, trees, up);
    WEIR_TRY(half.status());
    equal_blocks += exactly(half->time);
  }
  TreePlan free = trees;
  const auto try_free_roots = [&] {
    if (network.ranks() <= kMostFreeRoots) free.free_roots = pack_free_roots(network, goal, free).ok();
  };
  if (equal_blocks > limit) try_free_roots();
  if (!free.free_roots || free.time > equal_blocks) {
    WEIR_TRY(pack_halves(network, goal, trees));
    if (equal_blocks == limit && trees.time > limit) try_free_roots();
    if (!free.free_roots || free.time >= trees.time) return {};
  }
  trees = std::move(free);
  return {};
}

}  // namespace

Result<TreePlan> plan_trees(const Network& network, Collective collective, Rank root,
                            const PackingGoal& goal) {
  if (!reduces(collective) && !spreads(collective)) {
    return Status(Code::invalid_argument,
                  fmt::format("trees cannot implement {}; expected a collective that sums or spreads",
                              name(collective)));
  }
  if (network.ranks() < 2)
    return Status(Code::invalid_argument, "one rank alone needs no plan; expected several ranks");
  TreePlan trees;
  trees.collective = collective;
  trees.root = root;
  auto bound = lower_bound(network, collective, root);
  WEIR_TRY(bound.status());
  WEIR_TRY(check_bound(network, *bound));
  trees.bound = std::move(*bound);

  if (collective == Collective::all_reduce) {
    WEIR_TRY(pack_all_reduce(network, goal, trees));
  } else {
    WEIR_TRY(pack_halves(network, goal, trees));
  }
  trees.part_of_bound = exactly(trees.bound.time) / trees.time;
  return trees;
}

std::vector<double> edge_bytes(const TreePlan& trees, const Network& network, double bytes) {
  std::vector<double> loads(network.edges.size());
  for (const auto* half : {&trees.up, &trees.down}) {
    if (!half->has_value()) continue;
    const Packing& packing = (*half)->packing;
    const auto all = std::accumulate(packing.shares.begin(), packing.shares.end(), int64_t{0});
    for (const Tree& tree : packing.trees) {
      const double part = bytes * static_cast<double>(tree.multiplicity) / static_cast<double>(all);
      for (const TreeEdge& edge : tree.edges)
        for (const int32_t number : edge.route) loads[static_cast<size_t>(number)] += part;
    }
  }
  return loads;
}

}  // namespace weir::algorithms
