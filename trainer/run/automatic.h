// SPDX-License-Identifier: Apache-2.0
/// The automatic plan of a run: the step-time model (trainer/plan) chooses the settings that the user left
/// open, for the ranks of this job (survey.h).
#pragma once

#include <string>

#include "trainer/plan/choose.h"
#include "trainer/run/settings.h"
#include "trainer/run/survey.h"
#include "trainer/run/world.h"

namespace weir::trainer {

/// The settings that the user has fixed.
struct FixedSettings {
  bool strategy = false;
  bool shard_ranks = false;
  bool micro_batch = false;
  bool recompute = false;
  bool prefetch = false;
  bool limiter = false;
  bool parts = false;
};

struct AutomaticPlan {
  Survey survey;
  plan::Ranking ranking;
  Settings usual;           ///< the settings before the choice
  bool usual_fits = false;  ///< whether they fit into memory

  double step_seconds() const { return ranking.first().best->prediction.line.seconds; }
  /// What was measured, what was chosen, and the next best plan: one line each.
  std::string describe() const;
};

/// Measures, chooses, and writes the choice into the settings. Collective: all ranks choose the same. If
/// nothing fits into memory, returns invalid_argument with the memory that is needed.
Result<AutomaticPlan> plan_run(const World& world, Settings& settings, const FixedSettings& given, Ops& ops);

}  // namespace weir::trainer
