// SPDX-License-Identifier: Apache-2.0
/// The automatic plan: the fastest way to run a step that fits into memory.
///
/// Thread safety: as links.h.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trainer/plan/predict.h"

namespace weir::trainer::plan {

struct Choice {
  Job job;
  Prediction prediction;
};

/// The best plan of one strategy (and group size), or why there is none.
struct StrategyResult {
  Strategy strategy = Strategy::full_shard;
  int shard = 0;
  bool cuts = false;  ///< the best plan of all that cut the model into parts, whatever their strategy
  std::optional<Choice> best;
  std::string refused;  ///< the reason as a sentence, if there is no best plan
};

/// The result for each strategy: the chosen one first, then by speed; strategies that do not fit come last.
struct Ranking {
  std::vector<StrategyResult> results;
  size_t tried = 0;  ///< number of jobs that were evaluated

  const StrategyResult& first() const { return results.front(); }
};

/// Settings that the caller has fixed, as in Job; empty ones are chosen.
struct PlanConstraints {
  int batch = 0;  ///< sequences per GPU and step; 0: any number, to maximise tokens per second
  double speed = 1;
  int reductions = 0;  ///< as Job::reductions
  std::optional<Strategy> strategy;
  std::optional<int> shard;  ///< ranks per group, HYBRID_SHARD and HPZ only
  std::optional<int> micro_batch;
  std::optional<Recompute> recompute;
  std::optional<int> prefetch;
  std::optional<Limiter> limiter;
  std::optional<Parts> parts;
  /// Whether the caller can cut the model like this; empty: all that divide ranks, heads and units.
  std::function<bool(const Parts&)> can_cut;
  /// The memory of a job, if the caller can compute it better than memory.h estimates it; else empty.
  std::function<Memory(const Job&)> memory;
};

/// Tries all strategies, shard groups that are parts of a node or 1, 2, 4, ... nodes, secondary copies in
/// each node, stages and slices, recomputation, micro-batches, prefetch depths and limiters, as far as the
/// constraints leave them open. Jobs with parts have the first prefetch depth and no limiter, which do not
/// count there. Among the jobs within 0.5% of the fastest it takes the one that needs the least memory. If
/// nothing fits, returns an error with the memory that the smallest job would need.
Result<Ranking> choose(const Model& model, const Cluster& cluster, const PlanConstraints& constraints);

/// One or two sentences on why the first choice is better than the second.
std::string reason(const Ranking& ranking, const Model& model);

}  // namespace weir::trainer::plan
