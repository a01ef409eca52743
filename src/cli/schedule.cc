// SPDX-License-Identifier: Apache-2.0

#include "src/cli/schedule.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>

#include "algorithms/best_plan/best_plan.h"
#include "algorithms/best_plan/catalogue_plan.h"
#include "algorithms/best_plan/ranking.h"
#include "algorithms/ir/verify.h"
#include "algorithms/plan_file/any_plan.h"
#include "algorithms/sim/ways.h"
#include "src/base/text.h"

namespace weir::cli {
namespace {

constexpr size_t kMostPlanBytes = size_t{1} << 30;

Result<std::string> whole_input() {
  std::string text;
  char buffer[1 << 16];
  for (size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, stdin)) > 0;) text.append(buffer, got);
  return text;
}

}  // namespace

Result<ir::Plan> load_plan(const std::string& file) {
  const auto text = file == "-" ? whole_input() : drivers::read_whole(file, kMostPlanBytes);
  WEIR_TRY(text.status());
  return algorithms::read_any_plan(*text, file == "-" ? "standard input" : file);
}

void add_schedule(CLI::App* command, ScheduleArguments& arguments) {
  auto* plan = command->add_option(
      "--plan", arguments.plan,
      "File with a plan: plan text (docs/plan-format.md), MSCCL XML or MSCCL++ JSON; -: standard input");
  command
      ->add_option("--algorithm", arguments.algorithm,
                   "Algorithm of the catalogue, instead of the best plan: ring, double_tree, ...")
      ->excludes(plan);
}

Result<ir::Plan> load_schedule(const ScheduleArguments& arguments, const PlanTask& task,
                               const PlanTaskArguments& asked, const sim::Channels& channels,
                               algorithms::Messages messages) {
  const int ranks = task.network.ranks();
  if (!arguments.algorithm.empty()) return algorithms::plan_by(arguments.algorithm, task.request(asked.root));
  if (arguments.plan.empty()) {
    auto best = algorithms::best_plan(task.request(asked.root));
    WEIR_TRY(best.status());
    auto ranked = algorithms::ranked_plans(task.request(asked.root), *best, channels, messages);
    WEIR_TRY(ranked.status());
    return std::move(ranked->front().schedule.plan);
  }
  auto plan = load_plan(arguments.plan);
  WEIR_TRY(plan.status());
  if (plan->shape.ranks != ranks) {
    return Status(Code::invalid_argument,
                  fmt::format("{} is a plan for {}, but the topology has {}; use --ranks to select as many",
                              arguments.plan, plural(plan->shape.ranks, "rank"), ranks));
  }
  if (plan->shape.kind != task.collective) {
    return Status(Code::invalid_argument,
                  fmt::format("{} is a plan for {}; use --collective {}", arguments.plan,
                              name(plan->shape.kind), name(plan->shape.kind)));
  }
  if (const Status proof = ir::verify(*plan); !proof.ok())
    return Status(Code::invalid_argument,
                  fmt::format("{} is not a correct plan: {}", arguments.plan, proof.message()));
  if (const Status ways = sim::check_ways(*plan, task.network); !ways.ok())
    return Status(Code::invalid_argument, fmt::format("{}: {}", arguments.plan, ways.message()));
  return plan;
}

}  // namespace weir::cli
