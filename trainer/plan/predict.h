// SPDX-License-Identifier: Apache-2.0
/// The time of a step, its exposed communication and its memory, for one way to run it.
///
/// Thread safety: pure functions.
#pragma once

#include "trainer/plan/memory.h"
#include "trainer/plan/schedule.h"

namespace weir::trainer::plan {

/// One way to run a step.
struct Job {
  Strategy strategy = Strategy::full_shard;
  int shard = 0;          ///< ranks of a shard group, HYBRID_SHARD only
  int micro_batch = 1;    ///< sequences per GPU
  int micro_batches = 1;  ///< per step
  Recompute recompute = Recompute::none;
  int prefetch = 1;
  Limiter limiter;
  double speed = 1;  ///< times the cluster's achieved FLOP/s
};

struct Prediction {
  Timeline line;  ///< of the whole step
  Memory memory;
  double tokens_per_second = 0;  ///< per GPU
  double model_flops = 0;        ///< FLOP/s per GPU, without recomputation
  double mfu = 0;                ///< of the cluster's peak
  double hiding_tokens =
      0;  ///< tokens per GPU and micro-batch whose computing takes as long as the links are busy
};

/// A step takes `micro_batches` times forward and backward; those after the third take as long as the third.
/// FULL_SHARD and HYBRID_SHARD gather for forward and for backward; SHARD_GRAD_OP once per micro-batch; these
/// three reduce each micro-batch, NO_SHARD the last. What is not in the model: the optimizer, loading of
/// data, stragglers. An error says what is wrong with the job.
Result<Prediction> predict(const Model& model, const Cluster& cluster, const Job& job);

/// Why the job does not fit into a GPU, or success.
Status check_memory(const Cluster& cluster, const Memory& memory);

}  // namespace weir::trainer::plan
