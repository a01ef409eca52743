#include "src/cli/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "algorithms/ir/text.h"
#include "algorithms/msccl/msccl.h"
#include "algorithms/planner/tree_planner.h"
#include "src/base/text.h"
#include "src/cli/plan_page.h"

namespace weir::cli {
namespace {

using algorithms::TreePlan;

constexpr int kExitUsage = 2;
/// A plan with its figures, as they are printed.
struct Report {
  Task task;
  TreePlan trees;
  double milliseconds = 0;

  int ranks() const { return task.network.ranks(); }
  static double gb_per_s(double time) { return algorithms::kCapacityUnit / time; }
  double bound_gb_per_s() const { return gb_per_s(trees.bound.time.value()); }
  double algorithm_gb_per_s() const { return gb_per_s(trees.time.convert_to<double>()); }
  /// nccl-tests' factor: what each rank's own link has to carry.
  double bus_gb_per_s() const {
    const double n = ranks();
    const double factor = trees.collective == Collective::all_reduce ? 2 * (n - 1) / n
                          : has_root(trees.collective)               ? 1
                                                                     : (n - 1) / n;
    return algorithm_gb_per_s() * factor;
  }
  std::string exact_ratio() const { return trees.part_of_bound.str(); }
  /// Different trees, each with its multiplicity once; what sums and spreads is one.
  size_t tree_count() const {
    if (trees.free_roots) return trees.down->packing.trees.size();
    size_t count = 0;
    for (const auto* half : {&trees.up, &trees.down})
      count += half->has_value() ? (*half)->packing.trees.size() : 0;
    return count;
  }
  int height() const {
    int most = 0;
    for (const auto* half : {&trees.up, &trees.down})
      most = std::max(most, half->has_value() ? algorithms::height((*half)->packing) : 0);
    return most;
  }
};

Result<Report> plan(const PlanArguments& arguments) {
  Report report;
  auto task = load_task(arguments.task);
  WEIR_TRY(task.status());
  report.task = std::move(*task);
  const auto begin = std::chrono::steady_clock::now();
  auto trees = algorithms::plan_trees(report.task.network, report.task.collective, arguments.task.root);
  WEIR_TRY(trees.status());
  report.trees = std::move(*trees);
  report.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

std::string json_of(const Report& report, const PlanArguments& arguments) {
  const nlohmann::ordered_json json = {
      {"collective", name(report.trees.collective)},
      {"bytes", arguments.task.bytes},
      {"ranks", report.ranks()},
      {"algorithm", report.trees.free_roots ? "trees with free roots" : "trees"},
      {"trees", report.tree_count()},
      {"height", report.height()},
      {"algbw_GBps", report.algorithm_gb_per_s()},
      {"busbw_GBps", report.bus_gb_per_s()},
      {"bound_GBps", report.bound_gb_per_s()},
      {"ratio", report.trees.part_of_bound.convert_to<double>()},
      {"ratio_exact", report.exact_ratio()},
      {"certificate", algorithms::explain(report.trees.bound, report.task.network, report.task.graph)},
      {"plan_ms", report.milliseconds}};
  return json.dump(2) + "\n";
}

std::string words_of(const Report& report, const PlanArguments& arguments) {
  const double seconds = static_cast<double>(arguments.task.bytes) / 1e9 / report.algorithm_gb_per_s();
  std::string text = fmt::format("{} of {} bytes over {} ranks\n", name(report.trees.collective),
                                 arguments.task.bytes, report.ranks());
  text +=
      fmt::format("plan         {}{}, at most {} hops high\n", plural(report.tree_count(), "spanning tree"),
                  report.trees.free_roots ? " with free roots" : "", report.height());
  text += fmt::format("predicted    {:.4g} GB/s (algbw), {:.4g} GB/s (busbw), {:.4g} ms without latencies\n",
                      report.algorithm_gb_per_s(), report.bus_gb_per_s(), seconds * 1e3);
  text += fmt::format("bound        {:.4g} GB/s: {}\n", report.bound_gb_per_s(),
                      algorithms::explain(report.trees.bound, report.task.network, report.task.graph));
  text += report.trees.part_of_bound == 1 ? "of the bound all: nothing can be faster\n"
                                          : fmt::format("of the bound {} = {:.4g}\n", report.exact_ratio(),
                                                        report.trees.part_of_bound.convert_to<double>());
  text += fmt::format("judged and planned in {:.3g} ms\n", report.milliseconds);
  return text;
}

std::string html_of(const Report& report) {
  const auto figure = [](double gb_per_s) { return fmt::format("{:.4g} GB/s", gb_per_s); };
  const double part = report.trees.part_of_bound.convert_to<double>();
  return plan_html(report.task, report.trees,
                   {{"algbw", figure(report.algorithm_gb_per_s())},
                    {"busbw", figure(report.bus_gb_per_s())},
                    {"bound", figure(report.bound_gb_per_s())},
                    {"of the bound", part == 1 ? "all" : fmt::format("{:.2f}%", part * 100)},
                    {"trees", std::to_string(report.tree_count())}},
                   {"The bound: " +
                    algorithms::explain(report.trees.bound, report.task.network, report.task.graph) + "."});
}

int fail(const Status& status) {
  fmt::print(stderr, "weir plan: {}\n", status.message());
  return kExitUsage;
}

}  // namespace

void add_plan(CLI::App& app, PlanArguments& arguments) {
  CLI::App* command = app.add_subcommand(
      "plan", "Plan a collective as trees on a topology, and say how far that is from what is possible");
  add_task(command, arguments.task);
  auto* json = command->add_flag("--json", arguments.json, "As JSON");
  auto* svg = command->add_flag("--svg", arguments.svg, "A picture: how busy the links are")->excludes(json);
  auto* html = command->add_flag("--html", arguments.html, "A page: the trees, and how busy the links are")
                   ->excludes(json)
                   ->excludes(svg);
  command->add_option("--emit", arguments.emit, "The plan itself: plan (docs/plan-format.md) or msccl-xml")
      ->check(CLI::IsMember({"plan", "msccl-xml"}))
      ->excludes(json)
      ->excludes(svg)
      ->excludes(html);
}

int run_plan(const PlanArguments& arguments) {
  auto report = plan(arguments);
  if (!report.ok()) return fail(report.status());
  if (arguments.emit.empty()) {
    fmt::print("{}", arguments.json   ? json_of(*report, arguments)
                     : arguments.svg  ? plan_svg(report->task, report->trees)
                     : arguments.html ? html_of(*report)
                                      : words_of(*report, arguments));
    return 0;
  }
  const auto schedule = algorithms::schedule(report->trees);
  if (!schedule.ok()) return fail(schedule.status());
  const auto text = arguments.emit == "plan" ? ir::write_text(*schedule) : msccl::write(*schedule);
  if (!text.ok()) return fail(text.status());
  fmt::print("{}", *text);
  return 0;
}

}  // namespace weir::cli
