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
#include "algorithms/network/relays.h"
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

/// A plan for an all-to-all, the network for it, and how many of the last ranks there only forward.
struct Exchange {
  Network network;
  int relays = 0;
  ExchangePlan plan;
  ExchangeLoads loads;
};

/// Planned paths, proven. GPUs that may forward are ranks without data.
Result<Exchange> exchange_of(const PlanRequest& request) {
  Exchange made;
  made.network = with_relays_as_ranks(request.network, request.graph);
  made.relays = made.network.ranks() - request.network.ranks();
  auto plan = plan_exchange(made.network, request.between_hosts, made.relays);
  WEIR_TRY(plan.status());
  auto loads = check_exchange(made.network, *plan, made.relays);
  WEIR_TRY(loads.status());
  made.plan = std::move(*plan);
  made.loads = std::move(*loads);
  return made;
}

/// Replaces a plan of an all-to-all by planned paths if these are faster. Bounds of all-to-alls are not
/// always tight, so a plan that comes this close is not improved.
void try_paths(const PlanRequest& request, const Bound& bound, Listed& best) {
  constexpr double kEnoughOfBound = 0.98;
  if (request.collective != Collective::all_to_all) return;
  if (bound.time.value() >= kEnoughOfBound * best.loads.time.value()) return;
  const auto made = exchange_of(request);
  if (!made.ok()) return;
  auto routed = weighed(moves_of(made->network, made->plan, made->relays), made->network);
  if (routed.ok() && routed->loads.time < best.loads.time) best = std::move(*routed);
}

/// Planned paths that are not spelled out.
BestPlan of_paths(Exchange made, const PlanRequest& request, Bound bound) {
  BestPlan best{std::move(made.plan), std::move(bound), exactly(made.loads.time), {}, {}};
  best.part_of_bound = exactly(best.bound.time) / best.time;
  for (const Int128 units : made.loads.units)
    best.edge_bytes.push_back(request.bytes * Ratio(units, made.loads.whole).value());
  return best;
}

BestPlan of_list(Listed listed, const PlanRequest& request, Bound bound) {
  const Rational time = exactly(listed.loads.time);
  BestPlan best{std::move(listed.plan), std::move(bound), time, {}, {}};
  best.part_of_bound = exactly(best.bound.time) / time;
  for (const int64_t chunks : listed.loads.chunks)
    best.edge_bytes.push_back(request.bytes * static_cast<double>(chunks) /
                              static_cast<double>(listed.loads.whole));
  return best;
}

/// Planned paths, move by move where there are few enough.
Result<BestPlan> best_paths(const PlanRequest& request, const Bound& bound) {
  auto made = exchange_of(request);
  WEIR_TRY(made.status());
  if (made->network.ranks() > kMostListedRanks) return of_paths(std::move(*made), request, bound);
  auto listed = weighed(moves_of(made->network, made->plan, made->relays), made->network);
  WEIR_TRY(listed.status());
  return of_list(std::move(*listed), request, bound);
}

Result<BestPlan> best_listed(const PlanRequest& request) {
  auto bound = lower_bound(request.network, request.collective, request.root);
  WEIR_TRY(bound.status());
  WEIR_TRY(check_bound(request.network, *bound));
  if (request.collective == Collective::all_to_all && relays_in(request.network, request.graph) > 0) {
    auto paths = best_paths(request, *bound);
    if (paths.ok()) return paths;
  }
  if (request.network.ranks() > kMostListedRanks) {
    if (request.collective == Collective::all_to_all) return best_paths(request, *bound);
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
  return of_list(std::move(*found), request, std::move(*bound));
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
