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
#include "src/base/sum_order.h"
#include "src/core/planning/common.h"
#include "src/core/planning/tuning_result.h"

namespace weir::core {

class Selector {
 public:
  /// The arguments are the same on all ranks. If the layout of `environment` has several rings, "ring" means
  /// all of them. With SumOrder::ranks, collectives that sum are planned in `rank_order`, whose places are
  /// the ranks; otherwise it is not used. `tables`: the communicator's tables in this process, which outlive
  /// the selector.
  Selector(cost::Environment environment, cost::Environment rank_order, SumOrder order, cost::Filter filter,
           SharedTables& tables);

  const cost::Environment& environment() const { return environment_; }
  SumOrder order() const { return order_; }
  /// Sets the rates: those known best, and those that were shipped, which choose the plans of sums with
  /// SumOrder::run. REQUIRES: no table was made yet.
  void set_rates(const cost::Rates& rates, const cost::Rates& shipped);

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
    bool in_rank_order = false;                ///< the plan's places are the ranks
  };
  Choice choose(Collective kind, Rank root, size_t bytes);

  /// An algorithm chosen by its costs.
  struct Selected {
    const algorithms::Entry* entry = nullptr;  ///< null: none is allowed
    algorithms::Layout layout;                 ///< the layout for its plan
  };
  /// Chooses, for blocks of `bytes`, among the algorithms that the options and `allowed` accept, within these
  /// numbers of rings; 0: those of the layout. Makes a table, which takes milliseconds.
  Selected select(Collective kind, size_t bytes, const cost::Allowed& allowed, size_t least_rings,
                  size_t most_rings) const;
  /// Whether these limits change the rings of the layout.
  bool changes_rings(size_t least_rings, size_t most_rings) const;

  /// The table of a collective, made on first use.
  const cost::CostTable& table(Collective kind);

 private:
  bool keeps_rank_order(Collective kind) const { return order_ == SumOrder::ranks && reduces(kind); }
  bool allows(const algorithms::Entry& entry) const;
  cost::CostTable make_table(Collective kind) const;

  cost::Environment environment_;
  cost::Environment sums_;  ///< environment of collectives that sum
  const SumOrder order_;
  const cost::Filter filter_;
  const TuningResult* tuning_result_ = nullptr;
  const ir::LoadedPlans* loaded_plans_ = nullptr;
  SharedTables& shared_;
  std::array<const cost::CostTable*, kCollectives>
      tables_{};  ///< tables by collective; null until first used
};

}  // namespace weir::core
