// SPDX-License-Identifier: Apache-2.0
/// The automatic plan of a run: what the user left open is chosen by the step-time model (trainer/plan) for
/// the ranks that are here (survey.h).
#pragma once

#include <string>

#include "trainer/plan/choose.h"
#include "trainer/run/settings.h"
#include "trainer/run/world.h"

namespace weir::trainer {

/// What the user said, which stays as it is.
struct Given {
  bool strategy = false;
  bool shard_ranks = false;
  bool micro_batch = false;
  bool recompute = false;
  bool prefetch = false;
  bool limiter = false;
};

struct AutomaticPlan {
  plan::Cluster cluster;
  plan::Ranking ranking;

  double step_seconds() const { return ranking.first().best->prediction.line.seconds; }
  /// What was measured, what was chosen, and what is next: a line each.
  std::string describe() const;
};

/// Measures, chooses, and writes what was chosen into the settings. Collective: all ranks choose the same.
/// invalid_usage with what is needed where nothing fits into memory.
Result<AutomaticPlan> plan_run(const World& world, Settings& settings, const Given& given, Ops& ops);

}  // namespace weir::trainer
