// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/automatic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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
                                    std::pair{shard::Strategy::hybrid_shard, plan::Strategy::hybrid_shard}};
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
  if (job.strategy == plan::Strategy::hybrid_shard)
    sharding.shard_ranks = job.shard == host_ranks ? 0 : job.shard;
  sharding.forward_prefetch = sharding.backward_prefetch = job.prefetch;
  sharding.limiter.kind = ours(kLimits, job.limiter.kind);
  sharding.limiter.gathers = job.limiter.gathers;
}

int shards_of(const plan::Job& job, int ranks) {
  if (job.strategy == plan::Strategy::no_shard) return 1;
  return job.strategy == plan::Strategy::hybrid_shard ? job.shard : ranks;
}

plan::PlanConstraints constraints_of(const Settings& settings, const FixedSettings& given, int ranks) {
  const shard::EngineOptions& sharding = settings.sharding;
  plan::PlanConstraints constraints;
  constraints.batch = static_cast<int>((settings.batch + ranks - 1) / ranks);
  if (given.strategy) constraints.strategy = theirs(kStrategies, sharding.strategy);
  if (given.shard_ranks && sharding.shard_ranks > 0) constraints.shard = sharding.shard_ranks;
  if (given.micro_batch && settings.micro_batch > 0)
    constraints.micro_batch = static_cast<int>(std::min<Index>(settings.micro_batch, constraints.batch));
  if (given.recompute) constraints.recompute = theirs(kRecomputations, settings.recompute);
  if (given.prefetch) constraints.prefetch = sharding.forward_prefetch;
  if (given.limiter)
    constraints.limiter = plan::Limiter{theirs(kLimits, sharding.limiter.kind), sharding.limiter.gathers, 0};
  return constraints;
}

/// The memory that the smallest plan needs, as a message about the budget; success if it fits after all.
Status refuse(Settings settings, const FixedSettings& given, int ranks) {
  if (!given.strategy) settings.sharding.strategy = shard::Strategy::full_shard;
  if (!given.recompute) settings.recompute = Recompute::full;
  if (!given.micro_batch) settings.micro_batch = 1;
  const int shards = settings.sharding.strategy == shard::Strategy::no_shard ? 1 : ranks;
  return fit(settings, Model(settings.config, settings.recompute), {0, shards, 0, ranks / shards}, ranks);
}

std::string words(const plan::StrategyResult& result) {
  const plan::Job& job = result.best->job;
  std::string text(plan::name(job.strategy));
  if (job.strategy == plan::Strategy::hybrid_shard) text += fmt::format(" in groups of {}", job.shard);
  text += fmt::format(", micro-batch {}", job.micro_batch);
  if (job.micro_batches > 1) text += fmt::format(" ({} a step)", job.micro_batches);
  text += fmt::format(", recompute {}, prefetch {}", plan::name(job.recompute), job.prefetch);
  switch (job.limiter.kind) {
    case plan::Limiter::Kind::block: return text + fmt::format(", limiter block {}", job.limiter.gathers);
    case plan::Limiter::Kind::sliding: return text + fmt::format(", limiter sliding {}", job.limiter.gathers);
    default: return text + ", limiter off";
  }
}

std::string rate(double bytes_per_second, double latency) {
  return fmt::format("{:.3g} MB/s and {:.3g} us", bytes_per_second / 1e6, latency * 1e6);
}

}  // namespace

std::string AutomaticPlan::describe() const {
  constexpr double kMib = 1 << 20;
  std::string text = fmt::format("measured here  {:.3g} GFLOP/s per rank", cluster.compute / 1e9);
  if (cluster.gpus > 1) text += ", inside a host " + rate(cluster.inside, cluster.inside_latency);
  if (cluster.nodes > 1) text += ", between hosts " + rate(cluster.nic, cluster.latency);
  if (cluster.nodes * cluster.gpus > 1)
    text += fmt::format("; computing is {:.0f}% slower beside transfers", 100 * cluster.contention);
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
  const int ranks = world.ranks();
  const std::array<Model, 3> models = {Model(settings.config, Recompute::none),
                                       Model(settings.config, Recompute::selective),
                                       Model(settings.config, Recompute::full)};
  auto cluster = survey(world, settings, models[0], ops);
  WEIR_TRY(cluster.status());
  const int host_ranks = static_cast<int>(cluster->gpus);
  plan::PlanConstraints constraints = constraints_of(settings, given, ranks);
  constraints.memory = [&](const plan::Job& job) {
    Settings tried = settings;
    apply(job, host_ranks, tried);
    const int shards = shards_of(job, ranks);
    const RankMemory needed = memory_within(tried, models[static_cast<size_t>(job.recompute)],
                                            {0, shards, 0, ranks / shards}, ranks);
    return plan::Memory{static_cast<double>(needed.states),
                        static_cast<double>(needed.gathered + needed.gradients),
                        static_cast<double>(needed.activations)};
  };
  auto ranking = plan::choose(plan_model(models[0]), *cluster, constraints);
  if (!ranking.ok()) WEIR_TRY(refuse(settings, given, ranks));
  WEIR_TRY(ranking.status());
  apply(ranking->first().best->job, host_ranks, settings);
  return AutomaticPlan{std::move(*cluster), std::move(*ranking)};
}

}  // namespace weir::trainer
