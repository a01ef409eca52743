// SPDX-License-Identifier: Apache-2.0

#include "src/cli/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "algorithms/cluster/cluster_trees.h"
#include "algorithms/network/relays.h"
#include "src/base/index.h"

namespace weir::cli {
namespace {

/// Whether the moves of a plan name the GPUs that only forward.
bool names_relays(const algorithms::BestPlan& best) {
  const auto* moves = std::get_if<ir::Plan>(&best.plan);
  return moves != nullptr && moves->shape.relays > 0;
}

}  // namespace

Result<PlanReport> plan_report(const PlanArguments& arguments) {
  PlanReport report;
  auto task = load_plan_task(arguments.task);
  WEIR_TRY(task.status());
  report.task = std::move(*task);
  if (report.ranks() == 1) {
    const topology::Index device = report.task.network.origin[at(report.task.network.rank_nodes[0])];
    return Status(Code::invalid_argument,
                  fmt::format("one rank alone needs no plan: expected several GPUs or hosts, found only {}",
                              report.task.graph.describe(device)));
  }
  report.task.bytes = std::max(report.task.bytes, 1.0);  // rates of nothing are none
  auto assumed = channels_of(arguments.channels, report.task);
  WEIR_TRY(assumed.status());
  report.assumed = std::move(*assumed);
  const auto begin = std::chrono::steady_clock::now();
  const algorithms::PlanRequest request = report.task.request(arguments.task.root);
  auto best = algorithms::best_plan(request);
  WEIR_TRY(best.status());
  report.best = std::move(*best);
  const int most = arguments.emit.empty() ? algorithms::kMostRankedRanks : algorithms::kMostSpelled;
  if (arguments.task.relay) report.relays = algorithms::relays_in(report.task.network, report.task.graph);
  if (report.ranks() <= most && !arguments.table && (!arguments.task.relay || names_relays(report.best))) {
    auto ranked =
        algorithms::ranked_plans(request, report.best, report.assumed.channels, report.assumed.messages);
    WEIR_TRY(ranked.status());
    report.ranked = std::move(*ranked);
    report.assumed.channels.slot_bytes = report.ranked[0].slot_bytes;
  }
  report.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

}  // namespace weir::cli
