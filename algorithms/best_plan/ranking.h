// SPDX-License-Identifier: Apache-2.0
/// All plans that can carry out a request, in the order of their simulated times. What is predicted is
/// therefore the time of the moves that are emitted. Pure and thread-safe.
/// Tests: tests/algorithms/ranking_test.cc, tests/cli/plan_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/best_plan/best_plan.h"
#include "algorithms/planner/schedule.h"
#include "algorithms/sim/plan_flows.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// A plan; its name is "planned" for trees of the planner, or that of the catalogue.
struct NamedPlan {
  std::string name;
  ir::Plan plan;
};

struct RankedPlan {
  std::string name;
  Schedule schedule;
  double slot_bytes = 0;  ///< with which it was simulated
};

/// The size of messages: that of the channels, or for the fastest plans what sim::with_fastest_messages()
/// chooses.
enum class Messages : uint8_t { given, fastest };

/// The schedule of `best`, whatever is faster in the simulation. Errors: those of schedule() in
/// planner/schedule.h and of sim::simulate().
Result<Schedule> schedule(const BestPlan& best, const Network& network, double bytes,
                          const sim::Channels& channels);

/// The plans of the catalogue that suit the topology, and that do not access other ranks' memory; `only`:
/// those of one name.
std::vector<NamedPlan> listed_plans(const PlanRequest& request, std::string_view only = {});

/// Up to this number of ranks all plans of the catalogue are compared, above it only "hierarchical": the
/// moves grow with the square of the number, and simulations take seconds, then a minute.
inline constexpr int kMostRankedRanks = 160;

/// The schedule of `best` and plans of the catalogue; the fastest one is first, and `best` is before others
/// that are equally fast. Where fewer trees are faster (schedule_fewer()), they become those of `best`. Plans
/// whose loads of the links alone make them slower than two others are left out; a plan with relays has no
/// others. Errors: those of schedule().
Result<std::vector<RankedPlan>> ranked_plans(const PlanRequest& request, BestPlan& best,
                                             const sim::Channels& channels,
                                             Messages messages = Messages::given);

}  // namespace weir::algorithms
