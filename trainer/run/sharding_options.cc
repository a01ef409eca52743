// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/sharding_options.h"

#include <CLI/CLI.hpp>
#include <map>
#include <string>

#include "trainer/run/settings.h"

namespace weir::trainer {

namespace {

void add_local_steps(CLI::App& app, Settings& settings) {
  app.add_option("--local-steps", settings.local_steps,
                 "Steps that each host, or --shard-ranks ranks, trains by itself before the differences are "
                 "averaged (DiLoCo), in the type of --reduce; 0: all ranks train together")
      ->capture_default_str();
  app.add_option("--outer-learning-rate", settings.outer_learning_rate,
                 "Learning rate of the outer optimizer of --local-steps, SGD with Nesterov momentum")
      ->capture_default_str();
  app.add_option("--outer-momentum", settings.outer_momentum, "Its momentum")->capture_default_str();
  app.add_option(
         "--outer-fragments", settings.outer_fragments,
         "Fragments of the model's units that --local-steps averages one after the other, each once in "
         "that many steps (Streaming DiLoCo)")
      ->capture_default_str();
  app.add_option("--outer-delay", settings.outer_delay,
                 "Steps for which groups train on while a fragment travels, until its average is merged; "
                 "default: 1 with several fragments, else 0");
  app.add_option(
         "--outer-mix", settings.outer_mix,
         "Weight of a group's own parameters in the mean with the outer ones when a fragment is merged "
         "that late")
      ->capture_default_str();
}

}  // namespace

void add_sharding_options(CLI::App& app, Settings& settings) {
  shard::EngineOptions& sharding = settings.sharding;
  const std::map<std::string, shard::Strategy> strategies{{"none", shard::Strategy::no_shard},
                                                          {"gradients", shard::Strategy::shard_grad_op},
                                                          {"full", shard::Strategy::full_shard},
                                                          {"hybrid", shard::Strategy::hybrid_shard},
                                                          {"hpz", shard::Strategy::hpz}};
  const std::map<std::string, shard::Limit> limits{
      {"off", shard::Limit::off}, {"block", shard::Limit::block}, {"sliding", shard::Limit::sliding}};
  using shard::Precision;
  const std::map<std::string, Precision> precisions{{"fp32", Precision::float32},
                                                    {"bf16", Precision::bfloat16},
                                                    {"int8", Precision::int8},
                                                    {"fp8", Precision::float8}};
  app.add_option(
         "--strategy", sharding.strategy,
         "none, gradients, full (default), hybrid or hpz: FSDP's NO_SHARD, SHARD_GRAD_OP (parameters stay "
         "gathered for a step), FULL_SHARD (gathered for every use), HYBRID_SHARD (full inside "
         "groups of ranks, replicas across them), or ZeRO++'s hpZ (full, but only the first gather of a "
         "step is over all ranks, the others inside groups)")
      ->transform(CLI::CheckedTransformer(strategies));
  app.add_option("--pipeline", settings.parts.stages,
                 "Pipeline stages of the model; each has ranks of its own, among which --strategy applies")
      ->capture_default_str();
  app.add_option("--tensor", settings.parts.slices,
                 "Tensor-parallel slices of each block, computed together by ranks of one host")
      ->capture_default_str();
  app.add_option(
         "--shard-ranks", sharding.shard_ranks,
         "Ranks per copy of the parameters with --strategy hybrid or hpz, or per group with --local-steps; "
         "0: those of one host")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  add_local_steps(app, settings);
  app.add_option("--prefetch", sharding.forward_prefetch,
                 "Units whose parameters are gathered ahead of the current one")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  app.add_option("--limiter", sharding.limiter.kind,
                 "Limiter of gathers in flight: off, block (whole blocks) or sliding (window, default)")
      ->transform(CLI::CheckedTransformer(limits));
  app.add_option("--gathers", sharding.limiter.gathers, "Maximum number of gathers in flight; 0: any number")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--gather-bytes", sharding.limiter.bytes,
                 "Maximum bytes of gathers in flight; 0: any number")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--memory", settings.memory,
                 "Memory budget of a rank's arrays in bytes, from which --micro-batch and --gather-bytes "
                 "follow if not given; 0: none")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--gather", sharding.gather,
                 "Type in which gathered parameters travel: fp32 (default), bf16, int8 or fp8")
      ->transform(CLI::CheckedTransformer(precisions));
  app.add_option("--reduce", sharding.reduce,
                 "Type in which gradients travel between ranks: fp32 (default), bf16, int8 or fp8")
      ->transform(CLI::CheckedTransformer(precisions));
}

}  // namespace weir::trainer
