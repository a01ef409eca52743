// SPDX-License-Identifier: Apache-2.0
/// The time of a step with tensor and pipeline parallelism combined with sharded data parallelism (1F1B,
/// interleaved), as far as published figures need it; the trainer's own parallelism is in trainer/parallel.
///
/// Thread safety: pure functions.
#pragma once

#include "trainer/plan/predict.h"

namespace weir::trainer::plan {

struct Pipeline {
  int tensor = 1;  ///< GPUs that share each product; all in one node
  int stages = 1;
  int interleave = 1;  ///< parts of the model per stage
};

/// Each of `ranks / (tensor stages)` replicas computes micro_batches micro-batches of micro_batch sequences.
/// The bubble is (stages - 1) / (interleave micro_batches) of computing (Narayanan et al. 2021, section
/// 2.2.2). Replicas shard the states: gathers of the parts overlap the first pass of `stages` micro-batches
/// forward, reductions the last pass backward. Tensor-parallel traffic is part of the achieved FLOP/s. Memory
/// is not predicted, and total() is 0. An error states why the ranks cannot be divided like this.
Result<Prediction> predict_pipeline(const Model& model, const Cluster& cluster, const Pipeline& pipeline,
                                    const Job& job);

}  // namespace weir::trainer::plan
