// SPDX-License-Identifier: Apache-2.0
/// Predicts the time of a step, its exposed communication and its memory, for one job.
///
/// Thread safety: pure functions.
#pragma once

#include "trainer/plan/memory.h"
#include "trainer/plan/schedule.h"

namespace weir::trainer::plan {

/// One way to run a step.
struct Job {
  Strategy strategy = Strategy::full_shard;
  int shard = 0;          ///< ranks per shard group, HYBRID_SHARD only
  int micro_batch = 1;    ///< sequences per GPU
  int micro_batches = 1;  ///< number of micro-batches per step
  Recompute recompute = Recompute::none;
  int prefetch = 1;
  Limiter limiter;
  double speed = 1;  ///< factor on the cluster's achieved FLOP/s
};

struct Prediction {
  Timeline line;  ///< times of the whole step
  Memory memory;
  double tokens_per_second = 0;  ///< tokens per second and GPU
  double model_flops = 0;        ///< FLOP/s per GPU, without recomputation
  double mfu = 0;                ///< model_flops / the cluster's peak
  double hiding_tokens =
      0;  ///< tokens per GPU and micro-batch whose computing takes as long as the links are busy
};

/// A step runs forward and backward `micro_batches` times; those after the third take as long as the third.
/// FULL_SHARD and HYBRID_SHARD gather for forward and for backward; SHARD_GRAD_OP once per micro-batch; these
/// three reduce each micro-batch, NO_SHARD only the last. Not modelled: the optimizer, data loading,
/// stragglers. An error states what is wrong with the job.
Result<Prediction> predict(const Model& model, const Cluster& cluster, const Job& job);

/// Success if the job fits into a GPU's memory, or the reason why not.
Status check_memory(const Cluster& cluster, const Memory& memory);

}  // namespace weir::trainer::plan
