// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "trainer/run/fragments.h"

namespace weir::trainer {

namespace {

Status check_parts(const Settings& settings) {
  const auto wrong = [](std::string what) { return Status(Code::invalid_argument, std::move(what)); };
  const auto [stages, slices] = settings.parts;
  const Index units = settings.config.layers + 2;
  if (stages < 1 || stages > units)
    return wrong(
        fmt::format("--pipeline {}: the model has {} units; expected 1 to {} stages", stages, units, units));
  if (stages > 1 && settings.config.tied)
    return wrong(fmt::format(
        "--pipeline {} with a tied output layer: the first and the last stage would need one table; "
        "expected --untied, or no stages (--tensor and --strategy are possible)",
        stages));
  if (slices < 1 || settings.config.heads % slices != 0)
    return wrong(fmt::format(
        "--tensor {}: the model has {} heads; expected a number of slices that divides the number of heads",
        slices, settings.config.heads));
  const Config& config = settings.config;
  if (config.form == Form::llama && (config.key_value_heads % slices != 0 || config.hidden % slices != 0))
    return wrong(
        fmt::format("--tensor {}: the model has {} heads of keys and values and a hidden width of {}; "
                    "expected a number of "
                    "slices that divides both",
                    slices, config.key_value_heads, config.hidden));
  if (slices > 1 && settings.config.width % kLanes != 0)
    return wrong(fmt::format("--tensor {}: the model's width is {}; expected a multiple of {}", slices,
                             settings.config.width, kLanes));
  if (slices > 1 && settings.canonical)
    return wrong(
        fmt::format("--tensor {} with --deterministic canonical: the bits of sums over slices depend on "
                    "their number; expected only one of the two options (--pipeline keeps canonical bits)",
                    slices));
  return {};
}

Status check_local_steps(const Settings& settings) {
  const auto wrong = [](std::string what) { return Status(Code::invalid_argument, std::move(what)); };
  if (settings.local_steps < 0)
    return wrong(fmt::format("--local-steps {} is negative; expected at least 0", settings.local_steps));
  if (!(settings.outer_learning_rate > 0) || !std::isfinite(settings.outer_learning_rate))
    return wrong(fmt::format("--outer-learning-rate {} is invalid; expected a finite number above 0",
                             settings.outer_learning_rate));
  if (!(settings.outer_momentum >= 0 && settings.outer_momentum < 1))
    return wrong(fmt::format("--outer-momentum {} is invalid; expected at least 0 and less than 1",
                             settings.outer_momentum));
  WEIR_TRY(check_fragments(settings));
  if (settings.local_steps == 0) return {};
  const auto excluded = [&](const char* option, const char* expected) {
    return wrong(fmt::format("--local-steps with {}: expected {}", option, expected));
  };
  if (settings.parts.parts() > 1) return excluded("--pipeline or --tensor", "only one of them");
  if (settings.sharding.strategy == shard::Strategy::hybrid_shard ||
      settings.sharding.strategy == shard::Strategy::hpz)
    return excluded("--strategy hybrid or hpz", "none, gradients or full, which apply inside each group");
  if (settings.canonical)
    return excluded("--deterministic canonical",
                    "only one of them, since the number of groups decides what is learned");
  if (settings.sharding.gpu != nullptr) return excluded("--device gpu", "the CPU");
  return {};
}

}  // namespace

Status check(const Settings& settings) {
  const auto wrong = [](std::string what) { return Status(Code::invalid_argument, std::move(what)); };
  if (settings.steps < 1)
    return wrong(fmt::format("--steps {} is too small; expected at least 1", settings.steps));
  if (settings.batch < 1)
    return wrong(fmt::format("--batch {} is too small; expected at least 1", settings.batch));
  WEIR_TRY(check_parts(settings));
  WEIR_TRY(check_local_steps(settings));
  if (settings.micro_batch < 0)
    return wrong(fmt::format("--micro-batch {} is negative; expected at least 0", settings.micro_batch));
  if (settings.checkpoint_every < 0)
    return wrong(
        fmt::format("--checkpoint-every {} is negative; expected at least 0", settings.checkpoint_every));
  if (settings.warm_up < 0)
    return wrong(fmt::format("--warm-up {} is negative; expected at least 0", settings.warm_up));
  if (settings.evaluation_sequences < 0)
    return wrong(fmt::format("--evaluation-sequences {} is negative; expected at least 0",
                             settings.evaluation_sequences));
  if (!(settings.learning_rate > 0) || !std::isfinite(settings.learning_rate))
    return wrong(fmt::format("--learning-rate {} is invalid; expected a finite number above 0",
                             settings.learning_rate));
  if (!(settings.clip >= 0))
    return wrong(fmt::format("--clip {} is invalid; expected at least 0", settings.clip));
  if (!(settings.weight_decay >= 0))
    return wrong(fmt::format("--weight-decay {} is invalid; expected at least 0", settings.weight_decay));
  if (settings.optimizer == Optimizer::muon && settings.parts.slices > 1)
    return wrong(fmt::format(
        "--optimizer muon with --tensor {}: it needs whole matrices, not slices; expected only one "
        "of the two options (--strategy and --pipeline are possible)",
        settings.parts.slices));
  if (settings.optimizer == Optimizer::muon && settings.sharding.gpu != nullptr)
    return wrong("--optimizer muon runs on the CPU only; expected --device cpu, or --optimizer adamw");
  return {};
}

float learning_rate_at(const Settings& settings, Index step) {
  const auto at = static_cast<double>(step);
  const auto warm_up = static_cast<double>(settings.warm_up);
  const auto rate = static_cast<double>(settings.learning_rate);
  if (step < settings.warm_up) return static_cast<float>(rate * (at + 1.0) / warm_up);
  const double rest = std::max(1.0, static_cast<double>(settings.steps) - 1.0 - warm_up);
  const double way = std::min(1.0, (at - warm_up) / rest);
  const auto last = static_cast<double>(settings.last_rate);
  return static_cast<float>(rate * (last + (1.0 - last) * 0.5 * (1.0 + std::cos(std::numbers::pi * way))));
}

}  // namespace weir::trainer
