// SPDX-License-Identifier: Apache-2.0
/// The memory of a rank: the size of its arrays, and how a budget is divided between activations and gathered
/// parameters.
///
/// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "trainer/model/model.h"
#include "trainer/run/settings.h"

namespace weir::trainer {

/// Bytes of the rank that needs most.
struct RankMemory {
  size_t states = 0;       ///< parameters, gradients and moments of the rank's own shard
  size_t gathered = 0;     ///< maximum of gathered parameters
  size_t gradients = 0;    ///< maximum of whole gradients in flight, without canonical sums
  size_t activations = 0;  ///< activations of a micro-batch, with scratch

  size_t total() const { return states + gathered + gradients + activations; }
  /// A summary: "12.3 MiB: states ...".
  std::string describe() const;
  /// The number of bytes, and the summary.
  std::string least() const;
};

/// A batch with the number of sequences that a rank computes together, without its arrays. `ranks` is the
/// number of data-parallel ranks. Pipelines whose micro-batch is not set get four micro-batches per stage, so
/// that stages idle for at most a fifth of the time.
Batch shape_of_batch(const Settings& settings, int ranks);

/// The units of each stage. REQUIRES, here and below: check() accepts the settings.
std::vector<parallel::UnitRange> stages_of(const Settings& settings, const Model& model);
/// Number of micro-batches whose activations a rank of that stage keeps at once.
int slots_of(const Settings& settings, int ranks, int stage);

/// `place` and `ranks` refer to the ranks with the same part of the model, here and below.
RankMemory memory_of(const Settings& settings, const Model& model, const shard::Place& place, int ranks);
/// The memory after a fit() without a tight budget: if the limiter's bytes were left open, they are those of
/// as many units as prefetch and limiter allow at once.
RankMemory memory_within(const Settings& settings, const Model& model, const shard::Place& place, int ranks);

/// With Settings::memory, sets what was left open. The micro-batch is the largest with which as many units
/// fit as prefetch and limiter allow at once; if none fits, fewer units are tried, down to one. The limiter
/// gets the rest of the budget for gathered parameters. invalid_argument with the smallest possible memory if
/// that exceeds the budget.
Status fit(Settings& settings, const Model& model, const shard::Place& place, int ranks);

}  // namespace weir::trainer
