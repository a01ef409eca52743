// SPDX-License-Identifier: Apache-2.0
/// The time of a step with tensor and pipeline parallelism beside sharded data parallelism (1F1B,
/// interleaved), so far as published figures need it; the trainer's own are in trainer/parallel.
///
/// Thread safety: pure functions.
#pragma once

#include "trainer/plan/predict.h"

namespace weir::trainer::plan {

struct Pipeline {
  int tensor = 1;  ///< GPUs that share each product; inside a node
  int stages = 1;
  int interleave = 1;  ///< parts of the model per stage
};

/// Each of `ranks / (tensor stages)` replicas has micro_batches of micro_batch sequences of job. The bubble
/// is (stages - 1) / (interleave micro_batches) of computing (Narayanan et al. 2021, section 2.2.2). Replicas
/// keep the states in shards: gathers of the parts go along with the first pass of `stages` micro-batches
/// forward, reductions with the last pass backward. Tensor traffic is part of the achieved FLOP/s. Memory is
/// not predicted, and total() is 0. An error says why the ranks cannot be divided so.
Result<Prediction> predict_pipeline(const Model& model, const Cluster& cluster, const Pipeline& pipeline,
                                    const Job& job);

}  // namespace weir::trainer::plan
