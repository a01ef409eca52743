// SPDX-License-Identifier: Apache-2.0

#include "src/cli/plan_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/sim/simulate.h"
#include "src/base/text.h"

namespace weir::cli {
namespace {

/// Flows that are simulated for a plan and a size; its other passes are extrapolated.
constexpr int64_t kFlowsOfPlan = 30'000;

struct Time {
  std::string_view name;
  double seconds;
};

/// The trees of `best`, if it consists of trees, and the plans of the catalogue.
Result<std::vector<algorithms::NamedPlan>> plans_of(const PlanTask& task, const algorithms::BestPlan& best,
                                                    Rank root, const sim::Channels& channels) {
  std::vector<algorithms::NamedPlan> plans;
  if (best.trees() != nullptr) {
    auto trees = algorithms::schedule(best, task.network, task.bytes, channels);
    WEIR_TRY(trees.status());
    plans.push_back({"planned", std::move(trees->plan)});
  } else if (const auto* plan = std::get_if<ir::Plan>(&best.plan);
             plan != nullptr && best.algorithm() == "routed") {
    plans.push_back({"routed", *plan});
  }
  for (algorithms::NamedPlan& plan : algorithms::listed_plans(task.request(root)))
    plans.push_back(std::move(plan));
  return plans;
}

/// Of all plans for a collective of `bytes`, the shortest first.
Result<std::vector<Time>> times_of(const PlanTask& task, const std::vector<algorithms::NamedPlan>& plans,
                                   double bytes, const sim::Channels& channels) {
  std::vector<Time> times;
  for (const algorithms::NamedPlan& plan : plans) {
    sim::FlowRoutes routes(task.network);
    const auto run = sim::simulate(plan.plan, bytes, task.network, routes, channels, kFlowsOfPlan);
    WEIR_TRY(run.status());
    times.push_back({plan.name, run->seconds});
  }
  std::ranges::stable_sort(times, {}, &Time::seconds);
  return times;
}

}  // namespace

Result<std::string> table_of(const PlanTask& task, const algorithms::BestPlan& best, Rank root,
                             const sim::Channels& channels) {
  if (task.network.ranks() > kMostTableRanks) {
    return Status(Code::invalid_argument,
                  fmt::format("--table simulates every plan move by move; expected at most {} ranks, not {}",
                              kMostTableRanks, task.network.ranks()));
  }
  const auto plans = plans_of(task, best, root, channels);
  WEIR_TRY(plans.status());
  std::string text = fmt::format("{:>10}  {:<18}{:>10}{:>12}{:>12}  {}\n", "bytes", "plan", "time",
                                 "algbw GB/s", "busbw GB/s", "second fastest");
  const double factor = sim::bus_factor(task.collective, task.network.ranks());
  for (double bytes = 1 << 10; bytes <= 4.0 * (1 << 30); bytes *= 4) {
    const auto times = times_of(task, *plans, bytes, channels);
    WEIR_TRY(times.status());
    const Time& first = times->front();
    const double bandwidth = first.seconds > 0 ? bytes / first.seconds / 1e9 : 0;
    text += fmt::format("{:>10}  {:<18}{:>10}{:>12.4g}{:>12.4g}", bytes_words(bytes), first.name,
                        seconds_words(first.seconds), bandwidth, bandwidth * factor);
    if (times->size() > 1)
      text +=
          fmt::format("  {}, {:.2f} times as long", (*times)[1].name, (*times)[1].seconds / first.seconds);
    text += "\n";
  }
  return text;
}

}  // namespace weir::cli
