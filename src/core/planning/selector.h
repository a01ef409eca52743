// SPDX-License-Identifier: Apache-2.0
/// Chooses the plan of an operation: the user's own if there is one for it, else what a tuner plugin says,
/// else the cheapest one (algorithms/cost) that the options allow.
///
/// Not thread-safe.
/// Tests: tests/library/choice_test.cc
#pragma once

#include <array>

#include "algorithms/cost/filter.h"
#include "algorithms/cost/table.h"
#include "algorithms/ir/loaded_plan.h"
#include "src/core/planning/common.h"
#include "src/core/planning/tuning_result.h"

namespace weir::core {

class Selector {
 public:
  /// `environment` and `filter` are the same on all ranks. If the layout has several rings, "ring" means all
  /// of them. `tables`: the communicator's tables in this process, which outlive the selector.
  Selector(cost::Environment environment, cost::Filter filter, SharedTables& tables)
      : environment_(std::move(environment)), filter_(std::move(filter)), shared_(tables) {}

  const cost::Environment& environment() const { return environment_; }
  /// Sets the rates. REQUIRES: no table was made yet.
  void set_rates(const cost::Rates& rates);

  /// Lets a tuning result overrule the costs from now on. It outlives the selector.
  void follow(const TuningResult& tuning_result) { tuning_result_ = &tuning_result; }

  /// Lets the user's plans overrule costs and tuner from now on. They outlive the selector.
  void follow(const ir::LoadedPlans& loaded_plans) { loaded_plans_ = &loaded_plans; }

  /// Whether the user or the tuner wants a plan even where ranks share memory. Called with every operation
  /// that could do without.
  bool wants_plan(Collective kind, Rank root, size_t bytes) const;

  /// The choice for an operation.
  struct Choice {
    const ir::LoadedPlan* loaded = nullptr;    ///< the user's plan; null: `entry`
    ir::LoadedPlans::Sizes sizes = {};         ///< sizes for which the user's plans make the same choice
    const algorithms::Entry* entry = nullptr;  ///< algorithm; null: there is none
    int tile_divisor = 1;                      ///< divides the tile size, as in cost::Estimate
    size_t rings = 0;                          ///< number of rings for an entry over rings; 0: the layout's
  };
  Choice choose(Collective kind, Rank root, size_t bytes);

  /// The table of a collective, made on first use.
  const cost::CostTable& table(Collective kind);

 private:
  bool allows(const algorithms::Entry& entry) const;
  cost::CostTable make_table(Collective kind) const;

  cost::Environment environment_;
  const cost::Filter filter_;
  const TuningResult* tuning_result_ = nullptr;
  const ir::LoadedPlans* loaded_plans_ = nullptr;
  SharedTables& shared_;
  std::array<const cost::CostTable*, kCollectives>
      tables_{};  ///< tables by collective; null until first used
};

}  // namespace weir::core
