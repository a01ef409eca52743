// SPDX-License-Identifier: Apache-2.0

#include "algorithms/best_plan/ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "algorithms/best_plan/catalogue_plan.h"
#include "algorithms/catalogue/catalogue.h"
#include "algorithms/network/relays.h"
#include "algorithms/sim/message_bytes.h"
#include "algorithms/sim/plan_loads.h"
#include "algorithms/sim/ways.h"

namespace weir::algorithms {
namespace {

/// Of so many plans the size of messages is chosen at least.
constexpr size_t kFinalists = 2;
/// Plans whose times differ by this part of them are compared with the messages that suit each, and well.
constexpr double kClose = 5e-3;
/// Differences of the times of equally fast plans. Trees use more lanes, which helps against latencies.
constexpr double kEqual = 5e-4;

Result<Schedule> simulated(ir::Plan plan, const Network& network, double bytes,
                           const sim::Channels& channels) {
  sim::FlowRoutes routes(network);
  auto prediction = sim::simulate(plan, bytes, network, routes, channels, sim::kFewFlows);
  WEIR_TRY(prediction.status());
  return Schedule{std::move(plan), std::move(*prediction)};
}

Status choose_messages(RankedPlan& ranked, const PlanRequest& request, const sim::Channels& channels) {
  Schedule& schedule = ranked.schedule;
  auto found = sim::fastest_messages(schedule.plan, request.bytes, request.network, channels,
                                     std::move(schedule.prediction));
  WEIR_TRY(found.status());
  schedule.prediction = std::move(found->prediction);
  ranked.slot_bytes = found->slot_bytes;
  return {};
}

/// Simulates more passes where few did not tell.
Status simulate_well(RankedPlan& ranked, const PlanRequest& request, sim::Channels channels) {
  Schedule& schedule = ranked.schedule;
  if (!schedule.prediction.extrapolated() || schedule.prediction.steady) return {};
  channels.slot_bytes = ranked.slot_bytes;
  auto prediction = sim::simulate(schedule.plan, request.bytes, request.network, channels);
  WEIR_TRY(prediction.status());
  schedule.prediction = std::move(*prediction);
  return {};
}

/// A plan, and the time that its loads of the links take at least.
struct LoadedPlan {
  NamedPlan named;
  double least_seconds;
};

/// In the order of those times; without `own`, and without plans whose moves pass other ranks between hosts.
Result<std::vector<LoadedPlan>> rivals_of(const PlanRequest& request, std::string_view own) {
  std::vector<LoadedPlan> rivals;
  const bool large = request.network.ranks() > kMostRankedRanks;
  for (NamedPlan& named : listed_plans(request, large ? "hierarchical" : "")) {
    if (named.name == own || sim::needs_forwarding(named.plan, request.network)) continue;
    sim::FlowRoutes routes(request.network);
    const auto loads = sim::loads_of(named.plan, request.network, routes);
    WEIR_TRY(loads.status());
    const double seconds = request.bytes / 1e9 * loads->time.value() / kCapacityUnit;
    rivals.push_back({std::move(named), seconds});
  }
  std::ranges::stable_sort(rivals, {}, &LoadedPlan::least_seconds);
  return rivals;
}

/// The n-th shortest simulated time. REQUIRES: there are as many.
double nth_time(const std::vector<RankedPlan>& plans, size_t n) {
  std::vector<double> seconds;
  for (const RankedPlan& plan : plans) seconds.push_back(plan.schedule.prediction.seconds);
  std::ranges::nth_element(seconds, seconds.begin() + static_cast<ptrdiff_t>(n - 1));
  return seconds[n - 1];
}

Result<Schedule> schedule_fewer(BestPlan& best, const PlanRequest& request, const sim::Channels& channels) {
  if (best.trees() == nullptr) return schedule(best, request.network, request.bytes, channels);
  CollectivePlan plan = *best.trees();
  auto made = schedule_fewer(plan, request.network, request.bytes, channels);
  if (made.ok() && plan.time != best.time) best = of_trees(std::move(plan), request);
  return made;
}

/// The fastest plan first; but `own` before those that are equally fast.
void sort_by_time(std::vector<RankedPlan>& plans, std::string_view own) {
  const auto seconds = [](const RankedPlan& plan) { return plan.schedule.prediction.seconds; };
  std::ranges::stable_sort(plans, {}, seconds);
  const auto preferred = std::ranges::find(plans, own, &RankedPlan::name);
  if (seconds(*preferred) * (1 - kEqual) > seconds(plans[0])) return;
  std::rotate(plans.begin(), preferred, preferred + 1);
}

}  // namespace

Result<Schedule> schedule(const BestPlan& best, const Network& network, double bytes,
                          const sim::Channels& channels) {
  if (best.trees() != nullptr) return schedule(*best.trees(), network, bytes, channels);
  if (const auto* plan = std::get_if<ir::Plan>(&best.plan)) return simulated(*plan, network, bytes, channels);
  return Status(Code::invalid_argument,
                fmt::format("a plan for {} ranks would have too many moves: expected at most {} ranks",
                            network.ranks(), kMostListedRanks));
}

std::vector<NamedPlan> listed_plans(const PlanRequest& request, std::string_view only) {
  std::vector<NamedPlan> plans;
  for (const Entry& entry : catalogue()) {
    if (entry.kind != request.collective || entry.pulls) continue;
    if (only.empty() ? is_for_rank_order(entry) : entry.algorithm != only) continue;
    auto plan = plan_by(entry.algorithm, request);
    if (plan.ok()) plans.push_back({std::string(entry.algorithm), std::move(*plan)});
  }
  return plans;
}

Result<std::vector<RankedPlan>> ranked_plans(const PlanRequest& request, BestPlan& best,
                                             const sim::Channels& channels, Messages messages) {
  std::vector<RankedPlan> plans;
  if (const auto* moves = std::get_if<ir::Plan>(&best.plan); moves != nullptr && moves->shape.relays > 0) {
    const Network wide = with_relays_as_ranks(request.network, request.graph);
    auto prediction = sim::simulate(*moves, request.bytes, wide, channels);
    WEIR_TRY(prediction.status());
    plans.push_back({best.algorithm(), {*moves, std::move(*prediction)}, channels.slot_bytes});
    return plans;
  }
  const std::string own = best.trees() != nullptr ? "planned" : best.algorithm();
  auto first = schedule_fewer(best, request, channels);
  WEIR_TRY(first.status());
  plans.push_back({own, std::move(*first), channels.slot_bytes});
  auto rivals = rivals_of(request, own);
  WEIR_TRY(rivals.status());
  for (LoadedPlan& rival : *rivals) {
    if (plans.size() >= kFinalists && rival.least_seconds > nth_time(plans, kFinalists)) break;
    auto run = simulated(std::move(rival.named.plan), request.network, request.bytes, channels);
    WEIR_TRY(run.status());
    plans.push_back({std::move(rival.named.name), std::move(*run), channels.slot_bytes});
  }
  sort_by_time(plans, own);
  if (request.network.ranks() > kMostRankedRanks) return plans;
  const double last = plans[0].schedule.prediction.seconds * (1 + kClose);
  for (size_t i = 0; i < plans.size(); ++i) {
    if (i >= kFinalists && plans[i].schedule.prediction.seconds > last) continue;
    if (messages == Messages::fastest) WEIR_TRY(choose_messages(plans[i], request, channels));
    WEIR_TRY(simulate_well(plans[i], request, channels));
  }
  sort_by_time(plans, own);
  return plans;
}

}  // namespace weir::algorithms
