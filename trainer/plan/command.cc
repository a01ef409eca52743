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
Result<std::vector<Question>> questions(const PlanOptions& options, const ClusterFile& file) {
  if (options.model.empty()) {
    if (options.nodes == 0 && options.batch == 0) return file.questions;
    return Status(Code::invalid_usage, "--nodes and --batch need --model");
  }
  if (file.model(options.model) == nullptr) {
    std::string known;
    for (const Model& model : file.models) known += " " + model.name;
    return Status(Code::invalid_argument,
                  fmt::format("{}: no model {}; expected one of{}", options.cluster, options.model, known));
  }
  const double nodes = options.nodes > 0 ? options.nodes : file.cluster.nodes;
  return std::vector<Question>{{options.model, nodes, options.batch}};
}

Status print_plans(const PlanOptions& options) {
  const auto file = read_cluster_file(options.cluster);
  WEIR_TRY(file.status());
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
    fmt::print("{}", describe(*ranking, model, cluster));
  }
  const auto table = published_table(*file);
  WEIR_TRY(table.status());
  fmt::print("{}", *table);
  return {};
}

}  // namespace

void add_plan_options(CLI::App& app, PlanOptions& options) {
  CLI::Option* cluster =
      app.add_option("--cluster", options.cluster,
                     "Cluster file that describes nodes, links and models (docs/trainer-planning.md)");
  app.add_flag("--plan-only", options.plan_only,
               "Choose a plan for --cluster, predict its step time, and exit")
      ->needs(cluster);
  app.add_option("--model", options.model,
                 "Name of a model in the cluster file; default: the plans of the file")
      ->needs(cluster);
  app.add_option("--nodes", options.nodes, "Number of nodes")
      ->check(CLI::Range(1, 1'000'000))
      ->needs(cluster);
  app.add_option("--batch", options.batch, "Sequences per GPU and step; default: the fastest number")
      ->check(CLI::Range(1, 1'000'000))
      ->needs(cluster);
}

int plan_only(const PlanOptions& options) {
  const Status status = print_plans(options);
  if (status.ok()) return 0;
  fmt::print(stderr, "weir-train: {}\n", status.message());
  return kExitUsage;
}

}  // namespace weir::trainer::plan
