#include "src/cli/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "algorithms/cluster/cluster_words.h"
#include "algorithms/ir/text.h"
#include "algorithms/msccl/msccl.h"
#include "algorithms/planner/planner.h"
#include "algorithms/sim/simulate.h"
#include "src/base/text.h"
#include "src/cli/candidates.h"
#include "src/cli/link_loads.h"
#include "src/cli/plan_page.h"

namespace weir::cli {
namespace {

using algorithms::CollectivePlan;

constexpr int kExitUsage = 2;
/// A plan with its figures, as they are printed.
struct Report {
  Task task;
  CollectivePlan plan;
  double milliseconds = 0;

  int ranks() const { return task.network.ranks(); }
  static double gb_per_s(double time) { return algorithms::kCapacityUnit / time; }
  double bound_gb_per_s() const { return gb_per_s(plan.bound.time.value()); }
  double algorithm_gb_per_s() const { return gb_per_s(plan.time.convert_to<double>()); }
  double bus_gb_per_s() const { return algorithm_gb_per_s() * sim::bus_factor(plan.collective, ranks()); }
  std::string exact_ratio() const { return plan.part_of_bound.str(); }
  /// Different trees, each with its multiplicity once; of a plan by hosts those of one host; what sums and
  /// spreads is one.
  size_t tree_count() const {
    if (!plan.trees.has_value()) return algorithms::trees_in_hosts(cluster());
    if (plan.trees->free_roots) return plan.trees->down->packing.trees.size();
    size_t count = 0;
    for (const auto* half : {&plan.trees->up, &plan.trees->down})
      count += half->has_value() ? (*half)->packing.trees.size() : 0;
    return count;
  }
  int height() const {
    if (!plan.trees.has_value()) return algorithms::height_in_hosts(cluster());
    int most = 0;
    for (const auto* half : {&plan.trees->up, &plan.trees->down})
      most = std::max(most, half->has_value() ? algorithms::height((*half)->packing) : 0);
    return most;
  }
  std::string words() const {
    return plan.trees.has_value()
               ? fmt::format("{}{}, at most {} hops high", plural(tree_count(), "spanning tree"),
                             plan.trees->free_roots ? " with free roots" : "", height())
               : algorithms::words_of(cluster());
  }
  std::string algorithm() const {
    if (!plan.trees.has_value())
      return cluster().free_roots ? "hierarchical with free roots" : "hierarchical";
    return plan.trees->free_roots ? "trees with free roots" : "trees";
  }
  const algorithms::ClusterPlan& cluster() const { return (plan.down ? plan.down : plan.up)->plan; }
};

Result<Report> plan(const PlanArguments& arguments) {
  Report report;
  auto task = load_task(arguments.task);
  WEIR_TRY(task.status());
  report.task = std::move(*task);
  const auto begin = std::chrono::steady_clock::now();
  auto planned = plan_task(report.task, arguments.task.root);
  WEIR_TRY(planned.status());
  report.plan = std::move(*planned);
  report.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

std::string json_of(const Report& report, const PlanArguments& arguments) {
  const nlohmann::ordered_json json = {
      {"collective", name(report.plan.collective)},
      {"bytes", arguments.task.bytes},
      {"ranks", report.ranks()},
      {"algorithm", report.algorithm()},
      {"trees", report.tree_count()},
      {"height", report.height()},
      {"algbw_GBps", report.algorithm_gb_per_s()},
      {"busbw_GBps", report.bus_gb_per_s()},
      {"bound_GBps", report.bound_gb_per_s()},
      {"ratio", report.plan.part_of_bound.convert_to<double>()},
      {"ratio_exact", report.exact_ratio()},
      {"certificate", algorithms::explain(report.plan.bound, report.task.network, report.task.graph)},
      {"plan_ms", report.milliseconds}};
  return json.dump(2) + "\n";
}

/// The quickest of the library's own algorithms, and why it is slower; nothing where ranks are too many to
/// say.
std::string runner_up(const Report& report) {
  if (report.ranks() > kMostComparedRanks) return "";
  auto candidates = candidates_for(report.task, report.plan);
  if (!candidates.ok()) return "";
  candidates->erase(candidates->begin());  // the plan itself
  const double bytes = std::max(report.task.bytes, 1.0);
  const auto found = race(report.task, *candidates, bytes, {});
  if (!found.ok() || found->empty()) return "";
  const Simulated& next = found->front();
  const std::vector<LinkGroup> groups = group_links(report.task, next.edge_bytes);
  const double ours = bytes / report.algorithm_gb_per_s() / 1e9;
  return fmt::format("runner-up    {}, {:.4g} GB/s: {:.2f} times as long; its busiest are {} {}, as {}\n",
                     next.name, bytes / next.seconds / 1e9, next.seconds / ours, groups[0].count,
                     groups[0].words, groups[0].example);
}

std::string words_of(const Report& report, const PlanArguments& arguments) {
  const double seconds = static_cast<double>(arguments.task.bytes) / 1e9 / report.algorithm_gb_per_s();
  std::string text = fmt::format("{} of {} bytes over {} ranks\n", name(report.plan.collective),
                                 arguments.task.bytes, report.ranks());
  text += fmt::format("plan         {}\n", report.words());
  text += fmt::format("predicted    {:.4g} GB/s (algbw), {:.4g} GB/s (busbw), {:.4g} ms without latencies\n",
                      report.algorithm_gb_per_s(), report.bus_gb_per_s(), seconds * 1e3);
  text += fmt::format("bound        {:.4g} GB/s: {}\n", report.bound_gb_per_s(),
                      algorithms::explain(report.plan.bound, report.task.network, report.task.graph));
  text += report.plan.part_of_bound == 1 ? "of the bound all: nothing can be faster\n"
                                         : fmt::format("of the bound {} = {:.4g}\n", report.exact_ratio(),
                                                       report.plan.part_of_bound.convert_to<double>());
  text += runner_up(report);
  text += fmt::format("judged and planned in {:.3g} ms\n", report.milliseconds);
  return text;
}

std::string html_of(const Report& report) {
  const auto figure = [](double gb_per_s) { return fmt::format("{:.4g} GB/s", gb_per_s); };
  const double part = report.plan.part_of_bound.convert_to<double>();
  return plan_html(
      report.task, report.plan,
      {{"algbw", figure(report.algorithm_gb_per_s())},
       {"busbw", figure(report.bus_gb_per_s())},
       {"bound", figure(report.bound_gb_per_s())},
       {"of the bound", part == 1 ? "all" : fmt::format("{:.2f}%", part * 100)},
       {"trees", std::to_string(report.tree_count())}},
      {"The bound: " + algorithms::explain(report.plan.bound, report.task.network, report.task.graph) + "."});
}

Result<std::string> table_of(const Report& report, const PlanArguments& arguments) {
  if (report.ranks() > kMostComparedRanks) {
    return Status(Code::invalid_argument,
                  fmt::format("--table simulates every plan move by move; expected at most {} ranks, not {}",
                              kMostComparedRanks, report.ranks()));
  }
  const auto candidates = candidates_for(report.task, report.plan);
  WEIR_TRY(candidates.status());
  return cli::table_of(report.task, *candidates, channels_of(arguments.channels));
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
  auto* table =
      command->add_flag("--table", arguments.table, "By size: which plan is the quickest, simulated")
          ->excludes(json);
  auto* svg = command->add_flag("--svg", arguments.svg, "A picture: how busy the links are")->excludes(json);
  auto* html = command->add_flag("--html", arguments.html, "A page: the trees, and how busy the links are")
                   ->excludes(json)
                   ->excludes(svg);
  command->add_option("--emit", arguments.emit, "The plan itself: plan (docs/plan-format.md) or msccl-xml")
      ->check(CLI::IsMember({"plan", "msccl-xml"}))
      ->excludes(json)
      ->excludes(svg)
      ->excludes(html)
      ->excludes(table);
  add_channels(command, arguments.channels);
}

int run_plan(const PlanArguments& arguments) {
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
                     : arguments.svg  ? plan_svg(report->task, report->plan)
                     : arguments.html ? html_of(*report)
                                      : words_of(*report, arguments));
    return 0;
  }
  const auto schedule = algorithms::schedule(report->plan, report->task.network);
  if (!schedule.ok()) return fail(schedule.status());
  const auto text = arguments.emit == "plan" ? ir::write_text(*schedule) : msccl::write(*schedule);
  if (!text.ok()) return fail(text.status());
  fmt::print("{}", *text);
  return 0;
}

}  // namespace weir::cli
