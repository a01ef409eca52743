// SPDX-License-Identifier: Apache-2.0

#include "algorithms/best_plan/best_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "algorithms/best_plan/catalogue_plan.h"
#include "algorithms/best_plan/exchange_moves.h"
#include "algorithms/catalogue/catalogue.h"
#include "algorithms/cluster/cluster_words.h"
#include "algorithms/cluster/exchange.h"
#include "algorithms/ir/verify.h"
#include "algorithms/proof/exchange_proof.h"
#include "algorithms/sim/plan_loads.h"
#include "algorithms/sim/ways.h"
#include "src/base/text.h"

namespace weir::algorithms {
namespace {

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

Result<Listed> weighed(ir::Plan plan, const Network& network) {
  WEIR_TRY(ir::verify(plan));
  sim::FlowRoutes routes(network);
  auto loads = sim::loads_of(plan, network, routes);
  WEIR_TRY(loads.status());
  return Listed{std::move(plan), std::move(*loads)};
}

/// What passes cables, in parts of the whole.
double on_cables(const sim::PlanLoads& loads, const Network& network) {
  int64_t chunks = 0;
  for (size_t edge = 0; edge < network.link_kinds.size(); ++edge)
    if (network.link_kinds[edge] == topology::LinkKind::cable) chunks += loads.chunks[edge];
  return static_cast<double>(chunks) / static_cast<double>(loads.whole);
}

/// Of equally fast plans the one that loads cables less leaves spines to other jobs.
bool is_better(const sim::PlanLoads& plan, const sim::PlanLoads& than, const Network& network) {
  return plan.time != than.time ? plan.time < than.time : on_cables(plan, network) < on_cables(than, network);
}

/// Returns the fastest plan of the catalogue. Plans whose moves pass other ranks between hosts are taken only
/// where all do.
Result<Listed> quickest(const PlanRequest& request) {
  std::optional<Listed> best;
  bool best_forwards = true;
  for (const Entry& entry : catalogue()) {
    if (entry.kind != request.collective || entry.pulls || is_for_rank_order(entry)) continue;
    auto plan = plan_by(entry.algorithm, request);
    if (!plan.ok()) continue;  // the topology has no groups that this algorithm needs
    const bool forwards = sim::needs_forwarding(*plan, request.network);
    if (best && forwards && !best_forwards) continue;
    auto listed = weighed(std::move(*plan), request.network);
    WEIR_TRY(listed.status());
    if (best && forwards == best_forwards && !is_better(listed->loads, best->loads, request.network))
      continue;
    best = std::move(*listed);
    best_forwards = forwards;
  }
  if (best) return std::move(*best);
  return Status(
      Code::invalid_argument,
      fmt::format("no algorithm of the catalogue can run {} on this topology", name(request.collective)));
}

/// Replaces a plan of an all-to-all by planned paths if these are faster. Bounds of all-to-alls are not
/// always tight, so a plan that comes this close is not improved.
void try_paths(const PlanRequest& request, const Bound& bound, Listed& best) {
  constexpr double kEnoughOfBound = 0.98;
  if (request.collective != Collective::all_to_all) return;
  if (bound.time.value() >= kEnoughOfBound * best.loads.time.value()) return;
  const auto plan = plan_exchange(request.network, request.between_hosts);
  if (!plan.ok() || !check_exchange(request.network, *plan).ok()) return;
  auto routed = weighed(moves_of(request.network, *plan), request.network);
  if (routed.ok() && routed->loads.time < best.loads.time) best = std::move(*routed);
}

/// An all-to-all of more ranks than can be listed.
Result<BestPlan> best_exchange(const PlanRequest& request, Bound bound) {
  auto plan = plan_exchange(request.network, request.between_hosts);
  WEIR_TRY(plan.status());
  const auto loads = check_exchange(request.network, *plan);
  WEIR_TRY(loads.status());
  BestPlan best{std::move(*plan), std::move(bound), exactly(loads->time), {}, {}};
  best.part_of_bound = exactly(best.bound.time) / best.time;
  for (const Int128 units : loads->units)
    best.edge_bytes.push_back(request.bytes * Ratio(units, loads->whole).value());
  return best;
}

Result<BestPlan> best_listed(const PlanRequest& request) {
  auto bound = lower_bound(request.network, request.collective, request.root);
  WEIR_TRY(bound.status());
  WEIR_TRY(check_bound(request.network, *bound));
  if (request.network.ranks() > kMostListedRanks) {
    if (request.collective == Collective::all_to_all) return best_exchange(request, std::move(*bound));
    return Status(
        Code::invalid_argument,
        fmt::format(
            "the plan of {} lists every pair of ranks; expected at most {} ranks, not {}; the bound is "
            "{:.4g} GB/s: {}",
            name(request.collective), kMostListedRanks, request.network.ranks(),
            kCapacityUnit / bound->time.value(), explain(*bound, request.network, request.graph)));
  }
  auto found = quickest(request);
  WEIR_TRY(found.status());
  try_paths(request, *bound, *found);
  const Rational time = exactly(found->loads.time);
  BestPlan best{std::move(found->plan), std::move(*bound), time, {}, {}};
  best.part_of_bound = exactly(best.bound.time) / time;
  for (const int64_t chunks : found->loads.chunks)
    best.edge_bytes.push_back(request.bytes * static_cast<double>(chunks) /
                              static_cast<double>(found->loads.whole));
  return best;
}

}  // namespace

std::string BestPlan::algorithm() const {
  if (std::holds_alternative<ExchangePlan>(plan)) return "routed";
  if (trees() == nullptr) return std::get<ir::Plan>(plan).algorithm;
  const auto& over_all = trees()->trees;
  if (!over_all.has_value())
    return cluster(*trees()).free_roots ? "hierarchical with free roots" : "hierarchical";
  return over_all->free_roots ? "trees with free roots" : "trees";
}

std::string BestPlan::words() const {
  if (const auto* exchange = std::get_if<ExchangePlan>(&plan)) {
    return fmt::format("routed: paths in {} of hosts, between hosts over {}",
                       plural(std::ssize(exchange->shapes), "shape"), plural(exchange->planes, "plane"));
  }
  if (trees() == nullptr) return algorithm() + ", on the shortest routes";
  const auto& over_all = trees()->trees;
  if (!over_all.has_value()) return words_of(cluster(*trees()));
  return fmt::format("{}{}, at most {} hops high",
                     plural(static_cast<int64_t>(tree_count()), "spanning tree"),
                     over_all->free_roots ? " with free roots" : "", height());
}

size_t BestPlan::tree_count() const {
  if (trees() == nullptr) return 0;
  const auto& over_all = trees()->trees;
  if (!over_all.has_value()) return trees_in_hosts(cluster(*trees()));
  if (over_all->free_roots) return over_all->down->packing.trees.size();
  size_t count = 0;
  for (const auto* half : {&over_all->up, &over_all->down})
    count += half->has_value() ? (*half)->packing.trees.size() : 0;
  return count;
}

int BestPlan::height() const {
  if (trees() == nullptr) return 0;
  const auto& over_all = trees()->trees;
  if (!over_all.has_value()) return height_in_hosts(cluster(*trees()));
  int most = 0;
  for (const auto* half : {&over_all->up, &over_all->down})
    most = std::max(most, half->has_value() ? algorithms::height((*half)->packing) : 0);
  return most;
}

Result<BestPlan> best_plan(const PlanRequest& request) {
  if (request.network.ranks() < 2)
    return Status(Code::invalid_argument, "one rank alone needs no plan; expected several ranks");
  if (!is_for_trees(request.collective)) return best_listed(request);
  auto planned = plan_collective(request.network, request.between_hosts, request.collective, request.root);
  WEIR_TRY(planned.status());
  return of_trees(std::move(*planned), request);
}

BestPlan of_trees(CollectivePlan planned, const PlanRequest& request) {
  BestPlan best{{}, planned.bound, planned.time, planned.part_of_bound, {}};
  best.edge_bytes = edge_bytes(planned, request.network, request.bytes);
  best.plan = std::move(planned);
  return best;
}

}  // namespace weir::algorithms
