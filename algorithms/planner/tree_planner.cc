#include "algorithms/planner/tree_planner.h"

#include <fmt/format.h>

#include <numeric>

#include "algorithms/packing/plans.h"
#include "algorithms/proof/tree_proof.h"

namespace weir::algorithms {
namespace {

/// Trees of one direction, and the time per byte of M that they take.
struct Half {
  Packed packed;
  Rational time;
};

/// `part`: how the whole is divided among the roots: by the number of ranks where all send, 1 where one does.
Result<Half> pack_half(const Network& network, const Bound& bound, const std::vector<int64_t>& weights,
                       int parts, const PackingGoal& goal) {
  auto packed = pack(network, weights, exactly(bound.bandwidth()) / parts, goal);
  WEIR_TRY(packed.status());
  WEIR_TRY(check_packing(network, packed->packing).status());
  Rational time = 1 / (packed->packing.bandwidth * packed->trees_per_root * parts);
  return Half{std::move(*packed), std::move(time)};
}

bool sums(Collective collective) {
  return collective == Collective::reduce_scatter || collective == Collective::reduce ||
         collective == Collective::all_reduce;
}
bool spreads(Collective collective) {
  return collective == Collective::all_gather || collective == Collective::broadcast ||
         collective == Collective::all_reduce;
}

}  // namespace

Result<TreePlan> plan_trees(const Network& network, Collective collective, Rank root,
                            const PackingGoal& goal) {
  if (!sums(collective) && !spreads(collective)) {
    return Status(Code::invalid_argument,
                  fmt::format("there are no trees for {}; expected a collective that sums or spreads",
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

  const bool rooted = has_root(collective);
  const int parts = rooted ? 1 : network.ranks();
  std::vector<int64_t> weights(static_cast<size_t>(network.ranks()), rooted ? 0 : 1);
  if (rooted) weights[static_cast<size_t>(root)] = 1;
  if (sums(collective)) {
    const Collective kind = rooted ? Collective::reduce : Collective::reduce_scatter;
    const auto own = lower_bound(network, kind, root);
    WEIR_TRY(own.status());
    auto half = pack_half(reversed(network), *own, weights, parts, goal);
    WEIR_TRY(half.status());
    trees.up = std::move(half->packed);
    trees.time += half->time;
  }
  if (spreads(collective)) {
    const Collective kind = rooted ? Collective::broadcast : Collective::all_gather;
    const auto own = lower_bound(network, kind, root);
    WEIR_TRY(own.status());
    auto half = pack_half(network, *own, weights, parts, goal);
    WEIR_TRY(half.status());
    trees.down = std::move(half->packed);
    trees.time += half->time;
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

Result<ir::Plan> schedule(const TreePlan& trees) {
  switch (trees.collective) {
    case Collective::all_gather: return tree_all_gather(trees.down->packing);
    case Collective::reduce_scatter: return tree_reduce_scatter(trees.up->packing);
    case Collective::broadcast: return tree_broadcast(trees.down->packing);
    case Collective::reduce: return tree_reduce(trees.up->packing);
    default: return tree_all_reduce(trees.up->packing, trees.down->packing);
  }
}

}  // namespace weir::algorithms
