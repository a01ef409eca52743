// SPDX-License-Identifier: Apache-2.0
/// Plans that a user supplies, and which call runs which of them.
///
/// Plain values: thread-safe when const.
/// Tests: tests/ir/loaded_plan_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/ir/plan.h"

namespace weir::ir {

struct LoadedPlan {
  std::string name;     ///< its file, for messages
  std::string key;      ///< its algorithm and digest, for caches; the same for equal plans only
  uint32_t digest = 0;  ///< by which ranks find out whether they run the same plan; never 0
  Plan plan;
};

/// `name`: where the plan comes from.
LoadedPlan loaded(std::string name, Plan plan);

class LoadedPlans {
 public:
  /// Where several plans are for one call, the one that was added first runs.
  void add(std::shared_ptr<const LoadedPlan> plan);

  const std::vector<std::shared_ptr<const LoadedPlan>>& all() const { return plans_; }
  /// The plan for a call with blocks of `bytes`, or null. `root` matters where has_root(kind).
  const LoadedPlan* find(Collective kind, Rank root, size_t bytes) const;
  /// The sizes around `bytes` for which find() gives the same answer, both included.
  struct Sizes {
    size_t least = 0;
    size_t most = SIZE_MAX;
  };
  Sizes sizes_like(Collective kind, Rank root, size_t bytes) const;

 private:
  std::vector<std::shared_ptr<const LoadedPlan>> plans_;
};

}  // namespace weir::ir
