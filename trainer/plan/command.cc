// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "trainer/plan/report.h"

namespace weir::trainer::plan {
namespace {

constexpr int kExitUsage = 2;

/// The plans that the options request, or else those of the file.
Result<std::vector<Question>> questions(const PlanOptions& options, const ModelsFile& file) {
  if (options.model.empty()) {
    if (options.nodes == 0 && options.batch == 0) return file.questions;
    return Status(Code::invalid_usage, "--nodes and --batch need --model");
  }
  if (file.model(options.model) == nullptr) {
    std::string known;
    for (const Model& model : file.models) known += " " + model.name;
    return Status(Code::invalid_argument,
                  fmt::format("{}: no model {}; expected one of{}", options.models, options.model, known));
  }
  const int nodes = options.nodes > 0 ? options.nodes : file.cluster.nodes;
  return std::vector<Question>{{options.model, nodes, options.batch}};
}

Status print_plans(const PlanOptions& options) {
  auto file = read_models_file(options.models);
  WEIR_TRY(file.status());
  if (!options.topology.empty()) file->topology = options.topology;
  if (!options.latencies.empty()) file->latencies = options.latencies;
  WEIR_TRY(file->link());
  const auto asked = questions(options, *file);
  WEIR_TRY(asked.status());
  fmt::print("{}", describe(*file));
  for (const Question& question : *asked) {
    Cluster cluster = file->cluster;
    cluster.nodes = question.nodes;
    const Model& model = *file->model(question.model);
    PlanConstraints constraints;
    constraints.batch = question.batch;
    const auto ranking = choose(model, cluster, constraints);
    WEIR_TRY(ranking.status());
    const auto words = describe(*ranking, model, cluster);
    WEIR_TRY(words.status());
    fmt::print("{}", *words);
  }
  if (!options.topology.empty()) return {};  // figures were published for the file's own
  const auto table = published_table(*file);
  WEIR_TRY(table.status());
  fmt::print("{}", *table);
  return {};
}

}  // namespace

void add_plan_options(CLI::App& app, PlanOptions& options) {
  CLI::Option* models =
      app.add_option("--models", options.models,
                     "Models file: device, models and published figures (docs/trainer-planning.md)");
  app.add_flag("--plan-only", options.plan_only,
               "Choose a plan for --models, predict its step time, and exit")
      ->needs(models);
  app.add_option("--topology", options.topology,
                 "Topology files, for example of weir topo or weir measure, or a machine in a line; default: "
                 "those of the models file")
      ->needs(models);
  app.add_option("--latency", options.latencies,
                 "Latencies in microseconds, as for weir sim; default: those of the models file")
      ->needs(models);
  app.add_option("--model", options.model, "Name of a model in the file; default: the plans of the file")
      ->needs(models);
  app.add_option("--nodes", options.nodes, "Number of nodes; default: all of the topology")
      ->check(CLI::Range(1, 1'000'000))
      ->needs(models);
  app.add_option("--batch", options.batch, "Sequences per GPU and step; default: the fastest number")
      ->check(CLI::Range(1, 1'000'000))
      ->needs(models);
}

int plan_only(const PlanOptions& options) {
  const Status status = print_plans(options);
  if (status.ok()) return 0;
  fmt::print(stderr, "weir-train: {}\n", status.message());
  return kExitUsage;
}

}  // namespace weir::trainer::plan
