// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weir::trainer::plan {
namespace {

/// One pass of `bytes` around each ring of replicas. A ring crosses the boundary of a node once per
/// direction, and `rings` of them share the node's NICs.
double pass_seconds(const Cluster& cluster, double replicas, double rings, double bytes) {
  if (replicas <= 1) return 0;
  return bytes * rings * (replicas - 1) / replicas / cluster.between() + (replicas - 1) * cluster.latency;
}

/// The time beyond computing of `parts` consecutive transfers of `transfer` seconds each, when one can start
/// every `compute` seconds and the last one after all computing.
double exposed(int parts, double transfer, double compute) {
  double end = 0;
  for (int part = 1; part <= parts; ++part) end = std::max(end, part * compute) + transfer;
  return end - parts * compute;
}

}  // namespace

Result<Prediction> predict_pipeline(const Model& model, const Cluster& cluster, const Pipeline& pipeline,
                                    const Job& job) {
  const double ranks = cluster.nodes * cluster.gpus;
  const double group = static_cast<double>(pipeline.tensor) * pipeline.stages;
  if (pipeline.tensor < 1 || pipeline.stages < 1 || pipeline.interleave < 1 || std::fmod(ranks, group) != 0 ||
      std::fmod(cluster.gpus, pipeline.tensor) != 0)
    return Status(Code::invalid_argument,
                  fmt::format("{} stages of {} GPUs do not divide {} nodes of {} GPUs; expected a divisor of "
                              "the number of GPUs",
                              pipeline.stages, pipeline.tensor, cluster.nodes, cluster.gpus));
  const double again = job.recompute == Recompute::full ? 4.0 / 3 : 1;
  const double tokens = job.micro_batch * model.sequence * job.micro_batches;  // tokens per replica
  Prediction found;
  found.line.compute_seconds =
      tokens * model.flops_per_token() * again / (group * cluster.achieved(model.width) * job.speed);
  const double bubble = found.line.compute_seconds * (pipeline.stages - 1) /
                        (static_cast<double>(pipeline.interleave) * job.micro_batches);
  const double replicas = ranks / group;
  const double part = model.parameters() / group / pipeline.interleave;
  const double rings = cluster.gpus / std::min(replicas, cluster.gpus / pipeline.tensor);
  const double gather = pass_seconds(cluster, replicas, rings, cluster.precision.gather * part);
  const double reduce = pass_seconds(cluster, replicas, rings, cluster.precision.reduce * part);
  // Computing of one part for the micro-batches of one pass, a third of it forward.
  const double pass = found.line.compute_seconds *
                      std::min(1.0, static_cast<double>(pipeline.stages) / job.micro_batches) /
                      pipeline.interleave;
  found.line.between_seconds = pipeline.interleave * (gather + reduce);
  found.line.seconds = found.line.compute_seconds + bubble + exposed(pipeline.interleave, gather, pass / 3) +
                       exposed(pipeline.interleave, reduce, pass * 2 / 3);
  found.tokens_per_second = tokens / group / found.line.seconds;
  found.model_flops = found.tokens_per_second * model.flops_per_token();
  found.mfu = found.model_flops / cluster.peak;
  return found;
}

}  // namespace weir::trainer::plan
