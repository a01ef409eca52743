// SPDX-License-Identifier: Apache-2.0

#include "src/cli/best_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/cluster/cluster_words.h"
#include "algorithms/ir/verify.h"
#include "algorithms/sim/plan_loads.h"
#include "src/base/text.h"
#include "src/cli/catalogue_plan.h"

namespace weir::cli {
namespace {

using algorithms::ClusterPlan;
using algorithms::CollectivePlan;

bool is_for_trees(Collective collective) {
  switch (collective) {
    case Collective::all_to_all:
    case Collective::gather:
    case Collective::scatter: return false;
    default: return true;
  }
}

const ClusterPlan& cluster(const CollectivePlan& plan) { return (plan.down ? plan.down : plan.up)->plan; }

/// A plan of the catalogue and the loads that it puts on the network.
struct Listed {
  ir::Plan plan;
  sim::PlanLoads loads;
};

/// Returns the fastest plan of the catalogue; among equally fast plans, the first one.
Result<Listed> quickest(const PlanTask& task, Rank root) {
  std::optional<Listed> best;
  for (const algorithms::Entry& entry : algorithms::catalogue()) {
    if (entry.kind != task.collective || entry.pulls) continue;
    auto plan = plan_by(entry.algorithm, task, root);
    if (!plan.ok()) continue;  // the topology has no groups that this algorithm needs
    WEIR_TRY(ir::verify(*plan));
    sim::FlowRoutes routes(task.network);
    auto loads = sim::loads_of(*plan, task.network, routes);
    WEIR_TRY(loads.status());
    if (!best || loads->time < best->loads.time) best = Listed{std::move(*plan), std::move(*loads)};
  }
  if (best) return std::move(*best);
  return Status(
      Code::invalid_argument,
      fmt::format("no algorithm of the catalogue can run {} on this topology", name(task.collective)));
}

Result<BestPlan> best_listed(const PlanTask& task, Rank root) {
  auto bound = algorithms::lower_bound(task.network, task.collective, root);
  WEIR_TRY(bound.status());
  WEIR_TRY(algorithms::check_bound(task.network, *bound));
  if (task.network.ranks() > kMostListedRanks) {
    return Status(
        Code::invalid_argument,
        fmt::format(
            "the plan of {} lists every pair of ranks; expected at most {} ranks, not {}; the bound is "
            "{:.4g} GB/s: {}",
            name(task.collective), kMostListedRanks, task.network.ranks(),
            algorithms::kCapacityUnit / bound->time.value(),
            algorithms::explain(*bound, task.network, task.graph)));
  }
  auto found = quickest(task, root);
  WEIR_TRY(found.status());
  const algorithms::Rational time = algorithms::exactly(found->loads.time);
  BestPlan best{std::move(found->plan), std::move(*bound), time, {}, {}};
  best.part_of_bound = algorithms::exactly(best.bound.time) / time;
  for (const int64_t chunks : found->loads.chunks)
    best.edge_bytes.push_back(task.bytes * static_cast<double>(chunks) /
                              static_cast<double>(found->loads.whole));
  return best;
}

}  // namespace

std::string BestPlan::algorithm() const {
  if (trees() == nullptr) return std::get<ir::Plan>(plan).algorithm;
  const auto& over_all = trees()->trees;
  if (!over_all.has_value())
    return cluster(*trees()).free_roots ? "hierarchical with free roots" : "hierarchical";
  return over_all->free_roots ? "trees with free roots" : "trees";
}

std::string BestPlan::words() const {
  if (trees() == nullptr) return algorithm() + ", on the shortest routes";
  const auto& over_all = trees()->trees;
  if (!over_all.has_value()) return algorithms::words_of(cluster(*trees()));
  return fmt::format("{}{}, at most {} hops high",
                     plural(static_cast<int64_t>(tree_count()), "spanning tree"),
                     over_all->free_roots ? " with free roots" : "", height());
}

size_t BestPlan::tree_count() const {
  if (trees() == nullptr) return 0;
  const auto& over_all = trees()->trees;
  if (!over_all.has_value()) return algorithms::trees_in_hosts(cluster(*trees()));
  if (over_all->free_roots) return over_all->down->packing.trees.size();
  size_t count = 0;
  for (const auto* half : {&over_all->up, &over_all->down})
    count += half->has_value() ? (*half)->packing.trees.size() : 0;
  return count;
}

int BestPlan::height() const {
  if (trees() == nullptr) return 0;
  const auto& over_all = trees()->trees;
  if (!over_all.has_value()) return algorithms::height_in_hosts(cluster(*trees()));
  int most = 0;
  for (const auto* half : {&over_all->up, &over_all->down})
    most = std::max(most, half->has_value() ? algorithms::height((*half)->packing) : 0);
  return most;
}

Result<BestPlan> best_plan(const PlanTask& task, Rank root) {
  if (!is_for_trees(task.collective)) return best_listed(task, root);
  auto planned = algorithms::plan_collective(task.network, task.between_hosts, task.collective, root);
  WEIR_TRY(planned.status());
  BestPlan best{{}, planned->bound, planned->time, planned->part_of_bound, {}};
  best.edge_bytes = algorithms::edge_bytes(*planned, task.network, task.bytes);
  best.plan = std::move(*planned);
  return best;
}

Result<ir::Plan> schedule(const BestPlan& best, const PlanTask& task) {
  if (best.trees() != nullptr) return algorithms::schedule(*best.trees(), task.network);
  return std::get<ir::Plan>(best.plan);
}

}  // namespace weir::cli
