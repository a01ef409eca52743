// SPDX-License-Identifier: Apache-2.0
/// Predicts the time of a step, its exposed communication and its memory, for one job.
///
/// Thread safety: as links.h.
#pragma once

#include "trainer/plan/memory.h"
#include "trainer/plan/schedule.h"

namespace weir::trainer::plan {

/// Parts into which a model is cut: stages of units, and slices of each unit.
struct Parts {
  int tensor = 1;  ///< GPUs that share each product; all in one node
  int stages = 1;
  int interleave = 1;  ///< parts of the model per stage

  int ranks() const { return tensor * stages; }  ///< GPUs that hold the model together
};

/// One way to run a step.
struct Job {
  Strategy strategy = Strategy::full_shard;  ///< of the ranks that have the same part
  int shard = 0;                             ///< ranks per group, HYBRID_SHARD and HPZ only
  int micro_batch = 1;                       ///< sequences per GPU, or per `parts.ranks()` GPUs
  int micro_batches = 1;                     ///< number of micro-batches per step
  Recompute recompute = Recompute::none;
  int prefetch = 1;
  Limiter limiter;
  double speed = 1;  ///< factor on the cluster's achieved FLOP/s
  Parts parts = {};
  int reductions = 0;  ///< units whose gradients a GPU may have whole at once; 0: any number
};

struct Prediction {
  Timeline line;  ///< times of the whole step
  Memory memory;
  double updated = 0;            ///< parameters that the optimizer of a GPU updates
  double tokens_per_second = 0;  ///< tokens per second and GPU
  double model_flops = 0;        ///< FLOP/s per GPU, without recomputation
  double mfu = 0;                ///< model_flops / the cluster's peak
  double hiding_tokens =
      0;  ///< tokens per GPU and micro-batch whose computing takes as long as the links are busy
};

/// A step runs forward and backward `micro_batches` times; those after the third take as long as the third.
/// FULL_SHARD, HYBRID_SHARD and HPZ gather for forward and for backward; SHARD_GRAD_OP once per micro-batch;
/// these reduce each micro-batch, NO_SHARD only the last. With parts: parts.h. Then the optimizer updates the
/// parameters that a GPU has. Not modelled: data loading, stragglers. An error states what is wrong with the
/// job.
Result<Prediction> predict(const Model& model, const Cluster& cluster, const Job& job);

}  // namespace weir::trainer::plan
