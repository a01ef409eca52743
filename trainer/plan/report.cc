// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "trainer/plan/published.h"

namespace weir::trainer::plan {
namespace {

constexpr double kGiga = 1e9;

std::string words(const Limiter& limiter) {
  switch (limiter.kind) {
    case Limiter::Kind::off: return "off";
    case Limiter::Kind::block: return fmt::format("block {}", limiter.gathers);
    case Limiter::Kind::sliding: return fmt::format("sliding {}", limiter.gathers);
    case Limiter::Kind::stall: return "stall";
  }
  return "";
}

std::string depth(int prefetch) { return prefetch == kEverything ? "all" : fmt::format("{}", prefetch); }

std::string words(Strategy strategy, int shard, const Parts& parts) {
  std::string text(name(strategy));
  if (has_groups(strategy)) text += fmt::format(" {}", shard);
  if (parts.ranks() > 1) text += fmt::format(", {} x {} parts", parts.stages, parts.tensor);
  return text;
}

std::string batches(const Job& job) {
  return job.micro_batches == 1 ? fmt::format("{}", job.micro_batch)
                                : fmt::format("{} x {}", job.micro_batches, job.micro_batch);
}

std::string line(const StrategyResult& result) {
  if (!result.best)
    return fmt::format("  {:<24} {}\n", result.cuts ? "parts" : words(result.strategy, result.shard, {}),
                       result.refused);
  const Job& job = result.best->job;
  const std::string what = words(job.strategy, job.shard, job.parts);
  const Prediction& found = result.best->prediction;
  return fmt::format("  {:<24} {:>9} {:<10} {:>8} {:<9} {:>9.4g} {:>9.4g} {:>7.1f} {:>8.1f} {:>7.1f}\n", what,
                     batches(job), name(job.recompute), depth(job.prefetch), words(job.limiter),
                     found.line.seconds, found.tokens_per_second, found.mfu * 100,
                     100 * found.line.exposed_seconds() / found.line.seconds, found.memory.total() / kGiga);
}

/// The all-gather of the largest unit's parameters, and the time that no plan for it can beat; empty where
/// nothing is gathered.
Result<std::string> largest_gather(const Model& model, const Cluster& cluster, const Job& job) {
  const auto groups = groups_of(job.strategy, cluster, job.shard);
  WEIR_TRY(groups.status());
  if (groups->shard < 2 || job.parts.ranks() > 1) return std::string();
  double largest = 0;
  for (const Unit& unit : model.units) largest = std::max(largest, unit.parameters);
  const double bytes = cluster.precision.gather * largest;
  const auto time = gather_time(cluster, *groups, bytes);
  WEIR_TRY(time.status());
  const auto bound = cluster.links->bound(Collective::all_gather, groups->shard);
  WEIR_TRY(bound.status());
  return fmt::format("gathers      {:.4g} GB take {:.4g} ms, and {:.4g} ms at least: {}\n", bytes / kGiga,
                     (time->inside + time->between) * 1e3, bound->seconds(bytes) * 1e3, bound->sentence());
}

std::string words(const Row& row, int micro_batch) {
  Job job = row.job;
  job.micro_batch = micro_batch;
  if (job.parts.ranks() > 1)
    return fmt::format("{} stages of {} GPUs, interleave {}, batch {}", job.parts.stages, job.parts.tensor,
                       job.parts.interleave, batches(job));
  std::string text =
      fmt::format("{}, batch {}, recompute {}, prefetch {}, limiter {}", words(job.strategy, job.shard, {}),
                  batches(job), name(job.recompute), depth(job.prefetch), words(job.limiter));
  if (job.speed != 1) text += fmt::format(", speed {}", job.speed);
  return text;
}

}  // namespace

std::string describe(const ModelsFile& file) {
  const Cluster& cluster = file.cluster;
  std::string text = fmt::format("{}\n", cluster.title);
  text += fmt::format("GPUs         {} per node, {:.4g} GB, {:.4g} of {:.4g} TFLOP/s", cluster.gpus,
                      cluster.memory / kGiga, cluster.compute / 1e12, cluster.peak / 1e12);
  if (cluster.half_rows > 0)
    text += fmt::format(", half of that with {:.4g} tokens per micro-batch", cluster.half_rows);
  text += '\n';
  text += fmt::format("topology     {}\n", fmt::join(file.topology, ", "));
  if (!file.latencies.empty()) text += fmt::format("latencies    {} us\n", file.latencies);
  if (file.constants.empty()) return text;
  text += "constants   ";
  for (const Constant& constant : file.constants)
    text += fmt::format(" {} {};", constant.name, constant.origin);
  text.back() = '\n';
  return text;
}

Result<std::string> describe(const Ranking& ranking, const Model& model, const Cluster& cluster) {
  const Choice& choice = *ranking.first().best;
  const Prediction& found = choice.prediction;
  std::string text = fmt::format("\n{} ({:.4g} B parameters) on {} nodes of {} GPUs\n", model.name,
                                 model.parameters() / 1e9, cluster.nodes, cluster.gpus);
  text += fmt::format("choice       {}, micro-batch {}, recompute {}, prefetch {}, limiter {}\n",
                      words(choice.job.strategy, choice.job.shard, choice.job.parts), batches(choice.job),
                      name(choice.job.recompute), depth(choice.job.prefetch), words(choice.job.limiter));
  text += fmt::format("predicted    step {:.4g} s, {:.4g} tokens/s per GPU, {:.4g} TFLOP/s, MFU {:.1f}%\n",
                      found.line.seconds, found.tokens_per_second, found.model_flops / 1e12, found.mfu * 100);
  text += fmt::format(
      "memory       {:.1f} of {:.1f} GB: states {:.1f}, in flight {:.1f}, activations {:.1f}\n",
      found.memory.total() / kGiga, (cluster.memory - cluster.reserve) / kGiga, found.memory.states / kGiga,
      found.memory.in_flight / kGiga, found.memory.activations / kGiga);
  if (cluster.half_rows > 0) {
    const double rows = choice.job.micro_batch * model.sequence;
    text +=
        fmt::format("products     {:.0f} tokens per micro-batch reach {:.0f}% of the speed that many reach\n",
                    rows, 100 * cluster.part_of_speed(rows));
  }
  const auto gather = largest_gather(model, cluster, choice.job);
  WEIR_TRY(gather.status());
  text += *gather;
  text += fmt::format("why          {}\n", reason(ranking, model));
  text +=
      fmt::format("  {:<24} {:>9} {:<10} {:>8} {:<9} {:>9} {:>9} {:>7} {:>8} {:>7}\n", "strategy", "batch",
                  "recompute", "prefetch", "limiter", "step s", "tokens/s", "MFU %", "exposed%", "GB");
  for (const StrategyResult& result : ranking.results) text += line(result);
  return text;
}

Result<std::string> published_table(const ModelsFile& file) {
  if (file.rows.empty()) return std::string();
  std::string text = fmt::format("\n{:<12} {:>5} {:>10} {:>10} {:<9} {:>6}  {}\n", "model", "nodes",
                                 "published", "predicted", "", "off", "job");
  for (const Row& row : file.rows) {
    const auto outcome = evaluate(file, row);
    WEIR_TRY(outcome.status());
    text += fmt::format("{:<12} {:>5} {:>10} {:>10.4g} {:<9} {:>+6.1f}%  {}{}\n", row.model, row.nodes,
                        fmt::format("{}{}", row.above ? ">" : "", row.published), outcome->predicted,
                        name(row.measure), outcome->off * 100, words(row, outcome->micro_batch),
                        row.fitted ? " (fitted)" : "");
  }
  return text;
}

}  // namespace weir::trainer::plan
