// SPDX-License-Identifier: Apache-2.0
/// A plan for a task, and the figures that commands print for it.
/// Tests: tests/cli/plan_test.cc
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algorithms/best_plan/ranking.h"
#include "algorithms/sim/simulate.h"
#include "src/cli/plan.h"
#include "src/cli/plan_task.h"

namespace weir::cli {

/// A plan and the figures that are printed for it.
struct PlanReport {
  PlanTask task;
  SimulatedChannels assumed;  ///< with the slots of the fastest plan
  algorithms::BestPlan best;
  std::vector<algorithms::RankedPlan> ranked;  ///< empty: too many ranks to simulate, or not asked for
  double milliseconds = 0;
  std::optional<int> relays;  ///< GPUs that only forward, if they may

  int ranks() const { return task.network.ranks(); }
  bool simulated() const { return !ranked.empty(); }
  bool extrapolated() const { return simulated() && ranked[0].schedule.prediction.extrapolated(); }
  /// Whether the emitted plan consists of the trees of `best`.
  bool of_trees() const { return best.trees() != nullptr && (!simulated() || ranked[0].name == "planned"); }
  static double gb_per_s(double time) { return algorithms::kCapacityUnit / time; }
  double bound_gb_per_s() const { return gb_per_s(best.bound.time.value()); }
  /// What the loads of the links allow.
  double links_gb_per_s() const { return gb_per_s(best.time.convert_to<double>()); }
  double predicted_gb_per_s() const {
    return simulated() ? ranked[0].schedule.prediction.algbw : links_gb_per_s();
  }
  double bus_gb_per_s() const { return predicted_gb_per_s() * sim::bus_factor(task.collective, ranks()); }
  double seconds() const {
    return simulated() ? ranked[0].schedule.prediction.seconds : task.bytes / 1e9 / links_gb_per_s();
  }
  std::string algorithm() const { return of_trees() || !simulated() ? best.algorithm() : ranked[0].name; }
  /// Whether what the links allow is more than what is predicted. It is computed for the routes of the plan's
  /// own trees, and moves take the shortest ones, which may be wider.
  bool links_tell() const { return links_gb_per_s() > predicted_gb_per_s() * (1 - 1e-6); }
  /// Whether the schedule is as fast as the links allow, but for its first and last messages.
  bool reaches_links() const { return predicted_gb_per_s() >= 0.98 * links_gb_per_s(); }
  double part_of_bound() const { return best.part_of_bound.convert_to<double>(); }
  std::string exact_part() const { return best.part_of_bound.str(); }
  std::string certificate() const { return algorithms::explain(best.bound, task.network, task.graph); }
};

/// Plans the task of `arguments`, and up to some number of ranks simulates all plans for it. Errors: those of
/// load_plan_task(), best_plan() and ranked_plans().
Result<PlanReport> plan_report(const PlanArguments& arguments);

}  // namespace weir::cli
