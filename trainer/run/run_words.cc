// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/run_words.h"

#include <fmt/format.h>

namespace weir::trainer {

std::string memory_words(const Sharded& engine) {
  const Settings& settings = engine.settings();
  std::string words = "a rank's arrays take " + engine.memory().describe();
  if (settings.memory > 0)
    words += fmt::format("; memory budget {:.1f} MiB, micro-batches of {}",
                         static_cast<double>(settings.memory) / (1 << 20),
                         shape_of_batch(settings, engine.shards().ranks()).sequences);
  return words;
}

std::string name_of(const Config& config) {
  return (preset(config.name).ok() ? "preset " : "model ") + config.name;
}

std::string model_words(const Model& model) {
  const Config& config = model.config();
  const std::string shared =
      config.form == Form::llama
          ? fmt::format(" ({} of keys and values), hidden width {}", config.key_value_heads, config.hidden)
          : "";
  return fmt::format(
      "{}: {} blocks of width {}, {} heads{}, sequences of {} {}, {:.2f} M parameters{}", name_of(config),
      config.layers, config.width, config.heads, shared, config.length,
      config.vocabulary == kBytes ? "bytes" : fmt::format("tokens out of {}", config.vocabulary),
      static_cast<double>(model.parameter_floats()) / 1e6,
      config.tied ? ", output layer tied to the embedding" : "");
}

std::string plural(int count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

namespace {

std::string fragments_words(const Settings& settings) {
  const auto delay = static_cast<int>(outer_delay_of(settings));
  if (settings.outer_fragments == 1 && delay == 0) return "";
  return fmt::format(" by {}, merged {} later",
                     plural(static_cast<int>(settings.outer_fragments), "fragment"), plural(delay, "step"));
}

}  // namespace

std::string ranks_words(const Sharded& engine) {
  const parallel::Team& team = engine.team();
  const parallel::Shape& shape = team.shape();
  const int ranks = engine.shards().ranks();
  const shard::Place& place = engine.shards().places()[0];
  std::string words = fmt::format("{} ranks, {}: {}-way sharding over {} ranks, {}", ranks * shape.parts(),
                                  shard::name_of(engine.settings().sharding.strategy), place.shards, ranks,
                                  plural(place.replicas, "replica"));
  if (engine.groups() > 1)
    words = fmt::format("{} groups that meet every {}{}, each of {}", engine.groups(),
                        plural(static_cast<int>(engine.settings().local_steps), "step"),
                        fragments_words(engine.settings()), words);
  if (shape.parts() == 1) return words;
  words += fmt::format(";\neach group of {} holds the whole model:", plural(shape.parts(), "rank"));
  if (shape.stages > 1)
    words += fmt::format(" {} stages, 1F1B, in micro-batches of {}; the first stage has {} of {} units",
                         shape.stages, shape_of_batch(engine.settings(), ranks).sequences,
                         engine.units().count(), engine.model().units().size());
  if (shape.slices > 1)
    words += fmt::format("{} {} slices of each block", shape.stages > 1 ? ";" : "", shape.slices);
  if (team.across_leaves() > 0)
    words += fmt::format("; {} spanning several leaves", plural(team.across_leaves(), "pipeline"));
  return words;
}

std::string text_words(const Text& text, const char* between) {
  return fmt::format("{}{}{} {}, the last {} held out", text.name(), between, text.size(),
                     text.is_bytes() ? "bytes" : "tokens", text.held_out_size());
}

}  // namespace weir::trainer
