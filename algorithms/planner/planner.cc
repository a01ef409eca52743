// SPDX-License-Identifier: Apache-2.0

#include "algorithms/planner/planner.h"

#include <algorithm>
#include <utility>

#include "algorithms/cluster/cluster_planner.h"
#include "algorithms/planner/direct_share.h"

namespace weir::algorithms {
namespace {

Result<JudgedCluster> judged(const Network& network, std::span<const char> between_hosts,
                             std::span<const int32_t> blocks, int skip) {
  auto plan = plan_cluster(network, between_hosts, blocks, skip);
  WEIR_TRY(plan.status());
  auto loads = check_cluster(network, *plan, blocks);
  WEIR_TRY(loads.status());
  JudgedCluster cluster{std::move(*plan), std::move(*loads)};
  add_direct_parts(network, between_hosts, blocks, cluster);
  return cluster;
}

/// `plan` without a plan, but with its bound; the levels of remaining groups go to `levels`.
Result<CollectivePlan> by_hosts(const Network& network, std::span<const char> between_hosts,
                                const CollectivePlan& asked, int skip, int& levels) {
  CollectivePlan plan = asked;
  const bool rooted = has_root(plan.collective);
  std::vector<int32_t> blocks(network.rank_nodes.size(), rooted ? 0 : 1);
  if (rooted) blocks[static_cast<size_t>(plan.root)] = 1;
  if (reduces(plan.collective)) {
    auto half = judged(reversed(network), between_hosts, blocks, skip);
    WEIR_TRY(half.status());
    plan.up = std::move(*half);
  }
  if (spreads(plan.collective)) {
    auto half = judged(network, between_hosts, blocks, skip);
    WEIR_TRY(half.status());
    plan.down = std::move(*half);
  }
  levels = 0;
  plan.time = 0;
  for (const auto* half : {&plan.up, &plan.down}) {
    if (!half->has_value()) continue;
    plan.time += exactly((*half)->loads.time);
    levels = std::max(levels, (*half)->plan.levels);
  }
  plan.part_of_bound = exactly(plan.bound.time) / plan.time;
  return plan;
}

/// Replaces a slower plan by an all-reduce whose halves run at the same time.
void try_free_roots(const Network& network, std::span<const char> between_hosts, CollectivePlan& best) {
  auto plans = plan_free_roots(network, between_hosts);
  if (!plans.ok()) return;
  auto loads = check_both(network, plans->up, plans->down);
  if (!loads.ok() || exactly(best.bound.time) <= best.part_of_bound * loads->time) return;
  best.up = JudgedCluster{std::move(plans->up), std::move(loads->up)};
  best.down = JudgedCluster{std::move(plans->down), std::move(loads->down)};
  best.time = std::move(loads->time);
  best.part_of_bound = exactly(best.bound.time) / best.time;
}

}  // namespace

Result<CollectivePlan> plan_collective(const Network& network, std::span<const char> between_hosts,
                                       Collective collective, Rank root) {
  CollectivePlan best;
  best.collective = collective;
  best.root = root;
  Status refused;
  if (network.ranks() > 1 && (reduces(collective) || spreads(collective))) {
    auto bound = lower_bound(network, collective, root);
    WEIR_TRY(bound.status());
    WEIR_TRY(check_bound(network, *bound));
    best.bound = std::move(*bound);
    const CollectivePlan asked = best;
    for (int skip = 0, levels = 1; levels > 0 && best.part_of_bound < 1; ++skip) {
      auto plan = by_hosts(network, between_hosts, asked, skip, levels);
      if (!plan.ok()) {
        refused = plan.status();
        break;
      }
      if (plan->part_of_bound > best.part_of_bound) best = std::move(*plan);
    }
    if (collective == Collective::all_reduce && best.part_of_bound < 1)
      try_free_roots(network, between_hosts, best);
    if (best.part_of_bound == 1 || (best.part_of_bound > 0 && network.ranks() > kMostFlatRanks)) return best;
  }
  if (network.ranks() > kMostPackedRanks) return refused;
  auto trees = plan_trees(network, collective, root);
  if (!trees.ok()) return best.part_of_bound > 0 ? Result<CollectivePlan>(std::move(best)) : trees.status();
  if (best.part_of_bound > 0 && trees->part_of_bound <= best.part_of_bound) return best;
  return of_trees(std::move(*trees));
}

CollectivePlan of_trees(TreePlan trees) {
  CollectivePlan plan;
  plan.collective = trees.collective;
  plan.root = trees.root;
  plan.bound = trees.bound;
  plan.time = trees.time;
  plan.part_of_bound = trees.part_of_bound;
  plan.trees = std::move(trees);
  return plan;
}

std::vector<double> edge_bytes(const CollectivePlan& plan, const Network& network, double bytes) {
  if (plan.trees.has_value()) return edge_bytes(*plan.trees, network, bytes);
  std::vector<double> loads(network.edges.size());
  for (const auto* half : {&plan.up, &plan.down}) {
    if (!half->has_value()) continue;
    for (size_t edge = 0; edge < loads.size(); ++edge)
      loads[edge] += (*half)->loads.share(edge).value() * bytes;
  }
  return loads;
}

}  // namespace weir::algorithms
