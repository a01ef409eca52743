// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/automatic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "trainer/run/budget.h"
#include "trainer/run/survey.h"

namespace weir::trainer {
namespace {

// Pairs of the engine's term and the model's term for the same thing.
constexpr std::array kStrategies = {std::pair{shard::Strategy::no_shard, plan::Strategy::no_shard},
                                    std::pair{shard::Strategy::shard_grad_op, plan::Strategy::shard_grad_op},
                                    std::pair{shard::Strategy::full_shard, plan::Strategy::full_shard},
                                    std::pair{shard::Strategy::hybrid_shard, plan::Strategy::hybrid_shard},
                                    std::pair{shard::Strategy::hpz, plan::Strategy::hpz}};
constexpr std::array kRecomputations = {std::pair{Recompute::none, plan::Recompute::none},
                                        std::pair{Recompute::selective, plan::Recompute::selective},
                                        std::pair{Recompute::full, plan::Recompute::full}};
constexpr std::array kLimits = {std::pair{shard::Limit::off, plan::Limiter::Kind::off},
                                std::pair{shard::Limit::block, plan::Limiter::Kind::block},
                                std::pair{shard::Limit::sliding, plan::Limiter::Kind::sliding}};

template <typename Pairs, typename Ours>
auto theirs(const Pairs& pairs, Ours ours) {
  for (const auto& pair : pairs)
    if (pair.first == ours) return pair.second;
  return pairs.front().second;
}

template <typename Pairs, typename Theirs>
auto ours(const Pairs& pairs, Theirs theirs) {
  for (const auto& pair : pairs)
    if (pair.second == theirs) return pair.first;
  return pairs.front().first;
}

/// `hosts_ranks`: the ranks of each host.
void apply(const plan::Job& job, int host_ranks, Settings& settings) {
  settings.micro_batch = job.micro_batch;
  settings.recompute = ours(kRecomputations, job.recompute);
  shard::EngineOptions& sharding = settings.sharding;
  sharding.strategy = ours(kStrategies, job.strategy);
  // Ranks of one host are recognised in whatever order they come.
  if (plan::has_groups(job.strategy)) sharding.shard_ranks = job.shard == host_ranks ? 0 : job.shard;
  settings.parts = {job.parts.stages, job.parts.tensor};
  sharding.forward_prefetch = sharding.backward_prefetch = job.prefetch;
  sharding.limiter.kind = ours(kLimits, job.limiter.kind);
  sharding.limiter.gathers = job.limiter.gathers;
}

/// The position of a rank; `ranks` are those with the same part of the model.
shard::Place place_of(const Settings& settings, int host_ranks, int ranks) {
  const shard::EngineOptions& sharding = settings.sharding;
  const int group = sharding.shard_ranks > 0 ? sharding.shard_ranks : std::min(host_ranks, ranks);
  shard::Place place{.shards = ranks};
  if (sharding.strategy == shard::Strategy::no_shard) place.shards = 1;
  if (sharding.strategy == shard::Strategy::hybrid_shard) place.shards = group;
  if (sharding.strategy == shard::Strategy::hpz) place.group_ranks = group;
  place.replicas = ranks / place.shards;
  return place;
}

plan::PlanConstraints constraints_of(const Settings& settings, const FixedSettings& given, int ranks) {
  const shard::EngineOptions& sharding = settings.sharding;
  plan::PlanConstraints constraints;
  constraints.batch = static_cast<int>((settings.batch + ranks - 1) / ranks);
  constraints.reductions = sharding.reductions;
  if (given.strategy) constraints.strategy = theirs(kStrategies, sharding.strategy);
  if (given.shard_ranks && sharding.shard_ranks > 0) constraints.shard = sharding.shard_ranks;
  if (given.micro_batch && settings.micro_batch > 0)
    constraints.micro_batch = static_cast<int>(std::min<Index>(settings.micro_batch, constraints.batch));
  if (given.recompute) constraints.recompute = theirs(kRecomputations, settings.recompute);
  if (given.prefetch) constraints.prefetch = sharding.forward_prefetch;
  if (given.limiter)
    constraints.limiter = plan::Limiter{theirs(kLimits, sharding.limiter.kind), sharding.limiter.gathers, 0};
  if (given.parts) constraints.parts = plan::Parts{settings.parts.slices, settings.parts.stages, 1};
  return constraints;
}

std::string mib_words(size_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

/// The memory of jobs as a run of this program would have it, and the least of all that was asked for.
class RunMemory {
 public:
  RunMemory(const Settings& settings, int host_ranks, int ranks)
      : settings_(settings), host_ranks_(host_ranks), ranks_(ranks) {}

  plan::Memory of(const plan::Job& job) {
    Settings tried = settings_;
    apply(job, host_ranks_, tried);
    const int ranks = ranks_ / job.parts.ranks();
    const RankMemory needed = memory_within(tried, model(tried), place_of(tried, host_ranks_, ranks), ranks);
    if (!least_ || needed.total() < least_->total()) least_ = needed;
    return {static_cast<double>(needed.states), static_cast<double>(needed.gathered + needed.gradients),
            static_cast<double>(needed.activations)};
  }

  /// Whether a run without a choice fits into `memory` bytes.
  bool fits(double memory) {
    Settings usual = settings_;
    const int ranks = ranks_ / usual.parts.parts();
    const shard::Place place = place_of(usual, host_ranks_, ranks);
    if (usual.memory > 0) return fit(usual, model(usual), place, ranks).ok();
    return static_cast<double>(memory_of(usual, model(usual), place, ranks).total()) <= memory;
  }

  /// That nothing fits into `memory` bytes. REQUIRES: of() was called.
  Status refuse(double memory) const {
    const auto bytes = static_cast<size_t>(memory);
    return Status(
        Code::invalid_argument,
        fmt::format("{} is too small; expected at least {}",
                    settings_.memory > 0 ? fmt::format("--memory {} ({})", bytes, mib_words(bytes))
                                         : fmt::format("the free memory per rank ({})", mib_words(bytes)),
                    least_->least()));
  }

 private:
  const Model& model(const Settings& of) {
    const auto at = std::pair(of.recompute, of.parts.slices);
    const auto known = models_.find(at);
    if (known != models_.end()) return known->second;
    return models_.try_emplace(at, of.config, of.recompute, Slice{0, of.parts.slices}).first->second;
  }

  const Settings& settings_;
  int host_ranks_, ranks_;
  std::map<std::pair<Recompute, int>, Model> models_;
  std::optional<RankMemory> least_;
};

std::string words(const plan::StrategyResult& result) {
  const plan::Job& job = result.best->job;
  std::string text(plan::name(job.strategy));
  if (plan::has_groups(job.strategy)) text += fmt::format(" in groups of {}", job.shard);
  if (job.parts.ranks() > 1)
    text += fmt::format(", {} stages of {} slices", job.parts.stages, job.parts.tensor);
  text += fmt::format(", micro-batch {}", job.micro_batch);
  if (job.micro_batches > 1) text += fmt::format(" ({} a step)", job.micro_batches);
  text += fmt::format(", recompute {}, prefetch {}", plan::name(job.recompute), job.prefetch);
  switch (job.limiter.kind) {
    case plan::Limiter::Kind::block: return text + fmt::format(", limiter block {}", job.limiter.gathers);
    case plan::Limiter::Kind::sliding: return text + fmt::format(", limiter sliding {}", job.limiter.gathers);
    default: return text + ", limiter off";
  }
}

std::string rate(const MeasuredLinks& links) {
  return fmt::format("{:.3g} MB/s and {:.3g} us", links.rate / 1e6, links.latency * 1e6);
}

}  // namespace

std::string AutomaticPlan::describe() const {
  constexpr double kMib = 1 << 20;
  const plan::Cluster& cluster = survey.cluster;
  std::string text = fmt::format("measured here  {:.3g} GFLOP/s per rank", cluster.peak / 1e9);
  if (cluster.half_rows >= 1)
    text += fmt::format(" (half of that with {:.0f} tokens per micro-batch)", cluster.half_rows);
  if (cluster.half_width > 0) {
    const double slices = 2;
    const double whole = cluster.achieved(survey.width, 1);
    text += fmt::format(", {:.0f}% of that in one of two slices",
                        100 * cluster.achieved(survey.width / slices, 1) / whole);
  }
  if (cluster.alone > 1.05)
    text += fmt::format(", {:.2g} times as much while the others wait", cluster.alone);
  if (cluster.gpus > 1) text += ", inside a host " + rate(survey.inside);
  if (cluster.nodes > 1) text += ", between hosts " + rate(survey.between);
  if (cluster.ranks() > 1)
    text += fmt::format(
        "; computing beside transfers is {:.0f}% slower, transfers are {:.0f}% slower and "
        "begin {:.3g} us later",
        100 * cluster.contention.computing, 100 * cluster.contention.transfers,
        cluster.contention.wake * 1e6);
  const plan::StrategyResult& first = ranking.first();
  text += fmt::format("\nplan           {}: {:.4g} s per step predicted, {:.1f} of {:.0f} MiB", words(first),
                      step_seconds(), first.best->prediction.memory.total() / kMib, cluster.memory / kMib);
  if (ranking.results.size() > 1 && ranking.results[1].best) {
    const plan::Prediction& next = ranking.results[1].best->prediction;
    text += fmt::format("\nnext best      {}: {:.4g} s, {:.1f} MiB", words(ranking.results[1]),
                        next.line.seconds, next.memory.total() / kMib);
  }
  return text;
}

Result<AutomaticPlan> plan_run(const World& world, Settings& settings, const FixedSettings& given, Ops& ops) {
  const Model model(settings.config, Recompute::none);
  auto found = survey(world, settings, model, ops);
  WEIR_TRY(found.status());
  const int host_ranks = found->cluster.gpus;
  plan::PlanConstraints constraints = constraints_of(settings, given, world.ranks());
  const Settings before = settings;
  RunMemory memory(before, host_ranks, world.ranks());
  constraints.memory = [&](const plan::Job& job) { return memory.of(job); };
  constraints.can_cut = [&](const plan::Parts& parts) {
    Settings cut = settings;
    cut.parts = {parts.stages, parts.tensor};
    return host_ranks % parts.tensor == 0 && check(cut).ok();
  };
  auto ranking = plan::choose(plan_model(model), found->cluster, constraints);
  if (ranking.status().code() == Code::invalid_usage) return memory.refuse(found->cluster.memory);
  WEIR_TRY(ranking.status());
  const bool usual_fits = memory.fits(found->cluster.memory);
  AutomaticPlan plan{std::move(*found), std::move(*ranking), before, usual_fits};
  apply(plan.ranking.first().best->job, host_ranks, settings);
  return plan;
}

}  // namespace weir::trainer
