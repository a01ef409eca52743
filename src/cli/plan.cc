// SPDX-License-Identifier: Apache-2.0

#include "src/cli/plan.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "algorithms/best_plan/best_plan.h"
#include "algorithms/ir/text.h"
#include "algorithms/msccl/msccl.h"
#include "algorithms/sim/simulate.h"
#include "src/base/text.h"
#include "src/cli/candidates.h"
#include "src/cli/failure.h"
#include "src/cli/link_loads.h"
#include "src/cli/plan_page.h"
#include "src/cli/rings.h"

namespace weir::cli {
namespace {

/// A plan and the figures that are printed for it.
struct Report {
  PlanTask task;
  algorithms::BestPlan best;
  double milliseconds = 0;

  int ranks() const { return task.network.ranks(); }
  static double gb_per_s(double time) { return algorithms::kCapacityUnit / time; }
  double bound_gb_per_s() const { return gb_per_s(best.bound.time.value()); }
  double algorithm_gb_per_s() const { return gb_per_s(best.time.convert_to<double>()); }
  double bus_gb_per_s() const { return algorithm_gb_per_s() * sim::bus_factor(task.collective, ranks()); }
  double part_of_bound() const { return best.part_of_bound.convert_to<double>(); }
  std::string exact_part() const { return best.part_of_bound.str(); }
  std::string certificate() const { return algorithms::explain(best.bound, task.network, task.graph); }
};

Result<Report> plan(const PlanArguments& arguments) {
  Report report;
  auto task = load_plan_task(arguments.task);
  WEIR_TRY(task.status());
  report.task = std::move(*task);
  const auto begin = std::chrono::steady_clock::now();
  auto best = algorithms::best_plan(report.task.request(arguments.task.root));
  WEIR_TRY(best.status());
  report.best = std::move(*best);
  report.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

std::string json_of(const Report& report, const PlanArguments& arguments) {
  const nlohmann::ordered_json json = {{"collective", name(report.task.collective)},
                                       {"bytes", arguments.task.bytes},
                                       {"ranks", report.ranks()},
                                       {"algorithm", report.best.algorithm()},
                                       {"trees", report.best.tree_count()},
                                       {"height", report.best.height()},
                                       {"algbw_GBps", report.algorithm_gb_per_s()},
                                       {"busbw_GBps", report.bus_gb_per_s()},
                                       {"bound_GBps", report.bound_gb_per_s()},
                                       {"ratio", report.part_of_bound()},
                                       {"ratio_exact", report.exact_part()},
                                       {"certificate", report.certificate()},
                                       {"plan_ms", report.milliseconds}};
  return json.dump(2) + "\n";
}

/// The fastest of the catalogue's algorithms, and its busiest links; empty if there are too many ranks to
/// simulate.
std::string runner_up(const Report& report, Rank root) {
  if (report.ranks() > kMostComparedRanks) return "";
  auto candidates = candidates_for(report.task, report.best, root);
  if (!candidates.ok()) return "";
  candidates->erase(candidates->begin());  // omit the plan itself
  const double bytes = std::max(report.task.bytes, 1.0);
  const auto found = race(report.task, *candidates, bytes, {});
  if (!found.ok() || found->empty()) return "";
  const Simulated& next = found->front();
  const std::vector<LinkGroup> groups = group_links(report.task, next.edge_bytes);
  const double ours = bytes / report.algorithm_gb_per_s() / 1e9;
  return fmt::format(
      "runner-up    {}, {:.4g} GB/s: {:.2f} times as long; its busiest links are {} {}, for example {}\n",
      next.name, bytes / next.seconds / 1e9, next.seconds / ours, groups[0].count, groups[0].words,
      groups[0].example);
}

std::string words_of(const Report& report, const PlanArguments& arguments) {
  const double seconds = static_cast<double>(arguments.task.bytes) / 1e9 / report.algorithm_gb_per_s();
  std::string text = fmt::format("{} of {} bytes over {} ranks\n", name(report.task.collective),
                                 arguments.task.bytes, report.ranks());
  text += fmt::format("plan         {}\n", report.best.words());
  text += fmt::format("predicted    {:.4g} GB/s (algbw), {:.4g} GB/s (busbw), {:.4g} ms without latencies\n",
                      report.algorithm_gb_per_s(), report.bus_gb_per_s(), seconds * 1e3);
  text += fmt::format("bound        {:.4g} GB/s: {}\n", report.bound_gb_per_s(), report.certificate());
  text += report.best.part_of_bound == 1
              ? "of the bound 100%: nothing can be faster\n"
              : fmt::format("of the bound {} = {:.4g}\n", report.exact_part(), report.part_of_bound());
  text += runner_up(report, arguments.task.root);
  text += fmt::format("planned and verified in {:.3g} ms\n", report.milliseconds);
  return text;
}

std::string html_of(const Report& report) {
  const auto figure = [](double gb_per_s) { return fmt::format("{:.4g} GB/s", gb_per_s); };
  std::vector<std::pair<std::string, std::string>> numbers = {
      {"algbw", figure(report.algorithm_gb_per_s())},
      {"busbw", figure(report.bus_gb_per_s())},
      {"bound", figure(report.bound_gb_per_s())},
      {"of the bound",
       report.best.part_of_bound == 1 ? "all" : fmt::format("{:.2f}%", report.part_of_bound() * 100)}};
  if (report.best.trees() == nullptr)
    numbers.emplace_back("algorithm", report.best.algorithm());
  else
    numbers.emplace_back("trees", std::to_string(report.best.tree_count()));
  return plan_html(report.task, report.best, std::move(numbers),
                   {"The bound: " + report.certificate() + "."});
}

Result<std::string> table_of(const Report& report, const PlanArguments& arguments) {
  if (report.ranks() > kMostComparedRanks) {
    return Status(Code::invalid_argument,
                  fmt::format("--table simulates every plan move by move; expected at most {} ranks, not {}",
                              kMostComparedRanks, report.ranks()));
  }
  const auto candidates = candidates_for(report.task, report.best, arguments.task.root);
  WEIR_TRY(candidates.status());
  return cli::table_of(report.task, *candidates, channels_of(arguments.channels));
}

int fail(const Status& status) { return report_failure("plan", status, kExitUsage); }

/// The best rings do not depend on trees, so no plan is made.
int print_rings(const PlanArguments& arguments) {
  const auto task = load_plan_task(arguments.task);
  if (!task.ok()) return fail(task.status());
  const auto text = graph_file_of(*task);
  if (!text.ok()) return fail(text.status());
  fmt::print("{}", *text);
  return 0;
}

}  // namespace

void add_plan(CLI::App& app, PlanArguments& arguments) {
  CLI::App* command = app.add_subcommand(
      "plan", "Plan a collective on a topology, and compare the plan with the lower bound of its time");
  add_plan_task(command, arguments.task);
  auto* json = command->add_flag("--json", arguments.json, "Print as JSON");
  auto* table = command
                    ->add_flag("--table", arguments.table,
                               "Print a table of the fastest plan for each size, by simulation")
                    ->excludes(json);
  auto* svg = command->add_flag("--svg", arguments.svg, "Print an SVG picture of the load of each link")
                  ->excludes(json);
  auto* html =
      command
          ->add_flag("--html", arguments.html, "Print an HTML page with the trees and the load of each link")
          ->excludes(json)
          ->excludes(svg);
  command
      ->add_option("--emit", arguments.emit,
                   "Print the plan as plan text (docs/plan-format.md) or as msccl-xml, or the best rings as "
                   "nccl-graph")
      ->check(CLI::IsMember({"plan", "msccl-xml", "nccl-graph"}))
      ->excludes(json)
      ->excludes(svg)
      ->excludes(html)
      ->excludes(table);
  add_channels(command, arguments.channels);
}

int run_plan(const PlanArguments& arguments) {
  if (arguments.emit == "nccl-graph") return print_rings(arguments);
  auto report = plan(arguments);
  if (!report.ok()) return fail(report.status());
  if (arguments.table) {
    const auto text = table_of(*report, arguments);
    if (!text.ok()) return fail(text.status());
    fmt::print("{}", *text);
    return 0;
  }
  if (arguments.emit.empty()) {
    fmt::print("{}", arguments.json   ? json_of(*report, arguments)
                     : arguments.svg  ? plan_svg(report->task, report->best)
                     : arguments.html ? html_of(*report)
                                      : words_of(*report, arguments));
    return 0;
  }
  const auto plan = algorithms::schedule(report->best, report->task.network);
  if (!plan.ok()) return fail(plan.status());
  const auto text = arguments.emit == "plan" ? ir::write_text(*plan) : msccl::write(*plan);
  if (!text.ok()) return fail(text.status());
  fmt::print("{}", *text);
  return 0;
}

}  // namespace weir::cli
