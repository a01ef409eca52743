// SPDX-License-Identifier: Apache-2.0
/// The memory of a rank: what its arrays take, and how a budget is shared between activations and parameters
/// that are gathered.
///
/// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trainer/model/model.h"
#include "trainer/run/settings.h"
#include "weir/status.h"

namespace weir::trainer {

/// Bytes, of the rank that has most.
struct RankMemory {
  size_t states = 0;       ///< parameters, gradients and moments of the own shard
  size_t gathered = 0;     ///< whole parameters, at most
  size_t gradients = 0;    ///< whole ones on their way, at most; of canonical sums not counted
  size_t activations = 0;  ///< of a micro-batch, with scratch

  size_t total() const { return states + gathered + gradients + activations; }
  /// "12.3 MiB of states, ..."
  std::string describe() const;
};

/// A batch of as many sequences as go through the model of a rank together, without its arrays. `ranks` are
/// those of data parallelism. Pipelines whose micro-batch is not given get four per stage, so that stages
/// stand still for at most a fifth of the time.
Batch shape_of_batch(const Settings& settings, int ranks);

/// The units of each stage. REQUIRES: settings that check() accepts, here and below.
std::vector<parallel::UnitRange> stages_of(const Settings& settings, const Model& model);
/// Micro-batches of which a rank of that stage keeps activations at once.
int slots_of(const Settings& settings, int ranks, int stage);

/// `place` and `ranks` are among the ranks with the same part of the model, here and below.
RankMemory memory_of(const Settings& settings, const Model& model, const shard::Place& place, int ranks);
/// The same as fit() would have it at best: under a budget the limiter, where its bytes were left open, gets
/// those of as many units as prefetch and limiter allow at once.
RankMemory memory_within(const Settings& settings, const Model& model, const shard::Place& place, int ranks);

/// With Settings::memory, sets what was left open: the micro-batch is the largest with which as many units
/// fit as prefetch and limiter allow at once, or else fewer, down to one; the limiter gets the rest of the
/// budget for gathered parameters. invalid_argument with what the smallest way needs where it is more.
Status fit(Settings& settings, const Model& model, const shard::Place& place, int ranks);

}  // namespace weir::trainer
