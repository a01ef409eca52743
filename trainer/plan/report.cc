// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/report.h"

#include <fmt/format.h>

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

std::string words(Strategy strategy, int shard) {
  std::string text(name(strategy));
  return strategy == Strategy::hybrid_shard ? fmt::format("{} {}", text, shard) : text;
}

std::string batches(const Job& job) {
  return job.micro_batches == 1 ? fmt::format("{}", job.micro_batch)
                                : fmt::format("{} x {}", job.micro_batches, job.micro_batch);
}

std::string line(const StrategyResult& result) {
  const std::string what = words(result.strategy, result.shard);
  if (!result.best) return fmt::format("  {:<18} {}\n", what, result.refused);
  const Job& job = result.best->job;
  const Prediction& found = result.best->prediction;
  return fmt::format("  {:<18} {:>9} {:<10} {:>8} {:<9} {:>9.4g} {:>9.4g} {:>7.1f} {:>8.1f} {:>7.1f}\n", what,
                     batches(job), name(job.recompute), depth(job.prefetch), words(job.limiter),
                     found.line.seconds, found.tokens_per_second, found.mfu * 100,
                     100 * found.line.exposed_seconds() / found.line.seconds, found.memory.total() / kGiga);
}

std::string_view name(Origin origin) {
  switch (origin) {
    case Origin::given: return "given";
    case Origin::assumed: return "assumed";
    case Origin::fitted: return "fitted";
  }
  return "";
}

std::string words(const Row& row, int micro_batch) {
  Job job = row.job;
  job.micro_batch = micro_batch;
  if (row.is_pipeline())
    return fmt::format("{} stages of {} GPUs, interleave {}, batch {}", row.pipeline.stages,
                       row.pipeline.tensor, row.pipeline.interleave, batches(job));
  std::string text =
      fmt::format("{}, batch {}, recompute {}, prefetch {}, limiter {}", words(job.strategy, job.shard),
                  batches(job), name(job.recompute), depth(job.prefetch), words(job.limiter));
  if (job.speed != 1) text += fmt::format(", speed {}", job.speed);
  return text;
}

}  // namespace

std::string describe(const ClusterFile& file) {
  const Cluster& cluster = file.cluster;
  std::string text = fmt::format("{}\n", cluster.title);
  text += fmt::format("GPUs         {} per node, {:.4g} GB, {:.4g} of {:.4g} TFLOP/s\n", cluster.gpus,
                      cluster.memory / kGiga, cluster.compute / 1e12, cluster.peak / 1e12);
  text += fmt::format(
      "links        {:.4g} GB/s per GPU inside, {:.4g} of {:.4g} GB/s per node between, {:.4g} us per step\n",
      cluster.inside / kGiga, cluster.between() / kGiga, cluster.nic / kGiga, cluster.latency * 1e6);
  text += "constants   ";
  for (const Constant& constant : file.constants)
    text += fmt::format(" {} {};", constant.name, name(constant.origin));
  text.back() = '\n';
  return text;
}

std::string describe(const Ranking& ranking, const Model& model, const Cluster& cluster) {
  const Choice& choice = *ranking.first().best;
  const Prediction& found = choice.prediction;
  std::string text = fmt::format("\n{} ({:.4g} B parameters) on {} nodes of {} GPUs\n", model.name,
                                 model.parameters() / 1e9, cluster.nodes, cluster.gpus);
  text += fmt::format("choice       {}, micro-batch {}, recompute {}, prefetch {}, limiter {}\n",
                      words(choice.job.strategy, choice.job.shard), batches(choice.job),
                      name(choice.job.recompute), depth(choice.job.prefetch), words(choice.job.limiter));
  text += fmt::format("predicted    step {:.4g} s, {:.4g} tokens/s per GPU, {:.4g} TFLOP/s, MFU {:.1f}%\n",
                      found.line.seconds, found.tokens_per_second, found.model_flops / 1e12, found.mfu * 100);
  text += fmt::format(
      "memory       {:.1f} of {:.1f} GB: states {:.1f}, in flight {:.1f}, activations {:.1f}\n",
      found.memory.total() / kGiga, (cluster.memory - cluster.reserve) / kGiga, found.memory.states / kGiga,
      found.memory.in_flight / kGiga, found.memory.activations / kGiga);
  text += fmt::format("why          {}\n", reason(ranking, model));
  text +=
      fmt::format("  {:<18} {:>9} {:<10} {:>8} {:<9} {:>9} {:>9} {:>7} {:>8} {:>7}\n", "strategy", "batch",
                  "recompute", "prefetch", "limiter", "step s", "tokens/s", "MFU %", "exposed%", "GB");
  for (const StrategyResult& result : ranking.results) text += line(result);
  return text;
}

Result<std::string> published_table(const ClusterFile& file) {
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
