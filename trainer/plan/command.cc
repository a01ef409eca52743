// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "trainer/plan/report.h"

namespace weir::trainer::plan {
namespace {

constexpr int kExitUsage = 2;

/// What the options ask for, or else what the file does.
Result<std::vector<Question>> questions(const PlanOptions& options, const ClusterFile& file) {
  if (options.model.empty()) {
    if (options.nodes == 0 && options.batch == 0) return file.questions;
    return Status(Code::invalid_usage, "--nodes and --batch need --model");
  }
  if (file.model(options.model) == nullptr) {
    std::string known;
    for (const Model& model : file.models) known += " " + model.name;
    return Status(Code::invalid_argument,
                  fmt::format("{}: no model {}; it has{}", options.cluster, options.model, known));
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
    Wish wish;
    wish.batch = question.batch;
    const auto ranking = choose(model, cluster, wish);
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
      app.add_option("--cluster", options.cluster, "Cluster file (docs/trainer-planning.md)");
  app.add_flag("--plan-only", options.plan_only, "Choose a plan for --cluster, predict its step, and end")
      ->needs(cluster);
  app.add_option("--model", options.model, "Model of the cluster file")->needs(cluster);
  app.add_option("--nodes", options.nodes, "Number of nodes")
      ->check(CLI::Range(1, 1'000'000))
      ->needs(cluster);
  app.add_option("--batch", options.batch, "Sequences per GPU and step (else as many as are best)")
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
