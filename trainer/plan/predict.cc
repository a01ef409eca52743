// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/predict.h"

#include <fmt/format.h>

#include <algorithm>

#include "trainer/plan/parts.h"
#include "trainer/plan/unit_cost.h"

namespace weir::trainer::plan {
namespace {

/// From this micro-batch on, each takes as long as the one before.
constexpr int kSteady = 3;

Status check(const Model& model, const Cluster& cluster, const Job& job) {
  const auto refuse = [](const std::string& sentence) { return Status(Code::invalid_argument, sentence); };
  if (model.units.empty()) return refuse(fmt::format("model {} has no units", model.name));
  if (cluster.nodes < 1 || cluster.gpus < 1) return refuse("expected at least one node of one GPU");
  if (job.micro_batch < 1 || job.micro_batches < 1)
    return refuse(fmt::format("{} micro-batches of {} sequences; expected at least one of one",
                              job.micro_batches, job.micro_batch));
  if (job.prefetch < 0) return refuse("the prefetch depth is negative; expected at least 0");
  if (job.limiter.kind == Limiter::Kind::block && job.limiter.gathers < 1)
    return refuse("a limiter block without gathers; expected at least one gather");
  return {};
}

Result<std::vector<UnitTimes>> unit_times(const Model& model, const Cluster& cluster, const Groups& groups,
                                          const Job& job) {
  const bool whole = groups.strategy == Strategy::no_shard;  // states include parameters and gradients
  std::vector<UnitTimes> times;
  times.reserve(model.units.size());
  for (const Unit& unit : model.units) {
    UnitTimes time;
    const UnitCost computing = unit_cost(model, cluster, job, unit);
    time.forward = computing.forward;
    time.backward = computing.backward;
    const double gathered = cluster.precision.gather * unit.parameters;
    const double reduced = cluster.precision.reduce * unit.parameters;
    const auto gather = gather_time(cluster, groups, gathered);
    WEIR_TRY(gather.status());
    if (groups.secondary > 0) {
      const auto again = gather_again_time(cluster, groups, gathered);
      WEIR_TRY(again.status());
      time.gather_again = *again;
    }
    const auto reduce = reduce_time(cluster, groups, reduced);
    WEIR_TRY(reduce.status());
    time.gather = *gather;
    time.reduce = *reduce;
    time.parameter_bytes = whole ? 0 : gathered;
    time.gradient_bytes = whole ? 0 : reduced;
    time.kept = unit.kept;
    times.push_back(time);
  }
  return times;
}

Timeline step(const std::vector<UnitTimes>& times, Rules rules) {
  const int wanted = rules.micro_batches;
  rules.micro_batches = std::min(wanted, kSteady);
  Timeline line = run(times, rules);
  if (wanted <= kSteady) return line;
  rules.micro_batches = kSteady - 1;
  const Timeline shorter = run(times, rules);
  const double more = wanted - kSteady;
  line.seconds += more * (line.seconds - shorter.seconds);
  line.compute_seconds += more * (line.compute_seconds - shorter.compute_seconds);
  line.inside_seconds += more * (line.inside_seconds - shorter.inside_seconds);
  line.between_seconds += more * (line.between_seconds - shorter.between_seconds);
  return line;
}

Result<Prediction> predict_whole(const Model& model, const Cluster& cluster, const Job& job) {
  const auto groups = groups_of(job.strategy, cluster, job.shard);
  WEIR_TRY(groups.status());
  Rules rules;
  rules.free_after_forward = reshards(job.strategy);
  rules.reduce_each = job.strategy != Strategy::no_shard;
  rules.prefetch = job.prefetch;
  rules.limiter = job.limiter;
  rules.micro_batches = job.micro_batches;
  rules.reductions = job.strategy == Strategy::no_shard ? 0 : job.reductions;
  rules.contention = cluster.contention;
  const auto times = unit_times(model, cluster, *groups, job);
  WEIR_TRY(times.status());

  Prediction found;
  found.line = step(*times, rules);
  found.memory.states = state_bytes(model, cluster, *groups);
  found.memory.in_flight = found.line.peak_bytes;
  found.memory.activations = activation_bytes(model, cluster, job.recompute, job.micro_batch).total();
  found.updated = model.parameters() / groups->shard;
  return found;
}

}  // namespace

Result<Prediction> predict(const Model& model, const Cluster& cluster, const Job& job) {
  WEIR_TRY(check(model, cluster, job));
  auto found =
      job.parts.ranks() > 1 ? predict_parts(model, cluster, job) : predict_whole(model, cluster, job);
  WEIR_TRY(found.status());
  const double tokens = job.micro_batch * model.sequence / job.parts.ranks();  // of a GPU
  const double busy = std::max(found->line.inside_seconds, found->line.between_seconds);
  found->hiding_tokens = tokens * busy / found->line.compute_seconds;
  const double update = cluster.update * found->updated;
  found->line.seconds += update;
  found->line.compute_seconds += update;
  found->tokens_per_second = tokens * job.micro_batches / found->line.seconds;
  found->model_flops = found->tokens_per_second * model.flops_per_token();
  found->mfu = found->model_flops / cluster.peak;
  return found;
}

}  // namespace weir::trainer::plan
