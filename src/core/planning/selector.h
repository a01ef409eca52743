// SPDX-License-Identifier: Apache-2.0
/// Which plan an operation of a communicator takes: by what plans cost here (algorithms/cost), within what
/// the options allow.
///
/// Not thread-safe.
#pragma once

#include <array>

#include "algorithms/cost/filter.h"
#include "algorithms/cost/table.h"
#include "src/core/planning/common.h"
#include "src/core/planning/tuning_result.h"

namespace weir::core {

class Selector {
 public:
  /// `environment` and `filter` are the same on all ranks. Where the layout has several rings, "ring" means
  /// all of them. `tables` are those of the communicator in this process and outlive the selector.
  Selector(cost::Environment environment, cost::Filter filter, SharedTables& tables)
      : environment_(std::move(environment)), filter_(std::move(filter)), shared_(tables) {}

  const cost::Environment& environment() const { return environment_; }
  /// From now on these rates count. REQUIRES: no table was asked for yet.
  void set_rates(const cost::Rates& rates);

  /// From now on what it says counts more than costs. It outlives the selector.
  void follow(const TuningResult& tuning_result) { tuning_result_ = &tuning_result; }

  /// What an operation takes.
  struct Choice {
    const algorithms::Entry* entry = nullptr;  ///< null: there is none
    int tile_divisor = 1;                      ///< as in cost::Estimate
    size_t rings = 0;  ///< of an entry over rings: so many, instead of those of the layout; 0: these
  };
  Choice choose(Collective kind, size_t bytes);

  /// The table of a collective, made when first asked for.
  const cost::Table& table(Collective kind);

 private:
  bool allows(const algorithms::Entry& entry) const;
  cost::Table make_table(Collective kind) const;

  cost::Environment environment_;
  const cost::Filter filter_;
  const TuningResult* tuning_result_ = nullptr;
  SharedTables& shared_;
  std::array<const cost::Table*, kCollectives> tables_{};  ///< of those that were asked for; else null
};

}  // namespace weir::core
