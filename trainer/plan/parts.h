// SPDX-License-Identifier: Apache-2.0
/// The time of a step with tensor and pipeline parallelism combined with sharded data parallelism (1F1B,
/// interleaved).
///
/// Thread safety: as links.h.
/// Tests: tests/trainer/plan_parts_test.cc
#pragma once

#include "trainer/plan/predict.h"

namespace weir::trainer::plan {

/// Each of `ranks / parts.ranks()` replicas computes micro_batches micro-batches of micro_batch sequences.
///
/// * The most expensive stage sets the pace. The bubble is (stages - 1) / (interleave micro_batches) of its
///   time (Narayanan et al. 2021, section 2.2.2). Where ranks share the cores of one host, those that
///   compute have the cores of those that wait: the path of one rank is faster (Cluster::alone), and a step
///   takes at least the mean of all stages.
/// * The first stage waits for a micro-batch to cross all boundaries forward and backward, once for every
///   `stages` micro-batches; if interleaved, only in the bubble. Of two stages that is the time of 1F1B
///   exactly; of more it is at most that.
/// * Slices of a block add up its activations twice forward and twice backward, while nothing is computed
///   (Shoeybi et al. 2019).
/// * Ranks with one part follow each other `tensor` ranks apart. Without sharding their gradients are
///   all-reduced once; otherwise parameters are gathered once (SHARD_GRAD_OP) or for each visit (FULL_SHARD),
///   and gradients reduce-scattered for each micro-batch. Of that, what does not fit beside computing is
///   exposed, and the first gather and the last reduction of a part.
/// * The first stage keeps `stages` micro-batches between forward and backward, each of its units.
///
/// The prefetch depth, the limiter and the number of reductions do not count. An error states why the ranks
/// cannot be divided like this, or that the strategy has groups.
Result<Prediction> predict_parts(const Model& model, const Cluster& cluster, const Job& job);

/// Tokens per second and GPU that a job with parts reaches at most: computing and the bubble, without links.
/// REQUIRES: as predict_parts() accepts.
double most_tokens_per_second(const Model& model, const Cluster& cluster, const Job& job);

}  // namespace weir::trainer::plan
