// SPDX-License-Identifier: Apache-2.0
/// The automatic plan: the quickest way to run a step that fits in memory.
///
/// Thread safety: pure functions.
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

/// The best of one strategy (and shard group), or why there is none.
struct Entrant {
  Strategy strategy = Strategy::full_shard;
  int shard = 0;
  std::optional<Choice> best;
  std::string refused;  ///< a sentence, where there is no best
};

/// Of all strategies, the chosen one first, then by speed; those that do not fit last.
struct Ranking {
  std::vector<Entrant> entrants;
  size_t tried = 0;  ///< jobs

  const Entrant& first() const { return entrants.front(); }
};

/// What is not to be chosen, as in Job.
struct Wish {
  int batch = 0;  ///< sequences per GPU and step; 0: any number, tokens per second count
  double speed = 1;
  std::optional<Strategy> strategy;
  std::optional<int> shard;  ///< of HYBRID_SHARD
  std::optional<int> micro_batch;
  std::optional<Recompute> recompute;
  std::optional<int> prefetch;
  std::optional<Limiter> limiter;
  /// The memory of a job, where the caller knows it better than the estimate of memory.h; else empty.
  std::function<Memory(const Job&)> memory;
};

/// Tries strategies, shard groups that are parts of a node or 1, 2, 4, ... nodes, recomputation,
/// micro-batches, prefetch depths and limiters, as far as the wish leaves them open. Of those within 0.5% of
/// the quickest it takes the one that needs the least memory. An error if nothing fits, with what the
/// smallest would need.
Result<Ranking> choose(const Model& model, const Cluster& cluster, const Wish& wish);

/// One or two sentences: why the first is better than the second.
std::string reason(const Ranking& ranking, const Model& model);

}  // namespace weir::trainer::plan
