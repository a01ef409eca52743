// SPDX-License-Identifier: Apache-2.0

#include "src/cli/plan.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "algorithms/best_plan/ranking.h"
#include "algorithms/cluster/cluster_trees.h"
#include "algorithms/ir/text.h"
#include "algorithms/msccl/msccl.h"
#include "algorithms/mscclpp/mscclpp.h"
#include "algorithms/sim/simulate.h"
#include "algorithms/sim/ways.h"
#include "src/base/text.h"
#include "src/cli/failure.h"
#include "src/cli/help_page.h"
#include "src/cli/link_loads.h"
#include "src/cli/narrow_nics.h"
#include "src/cli/plan_page.h"
#include "src/cli/plan_report.h"
#include "src/cli/plan_table.h"
#include "src/cli/rate_table.h"
#include "src/cli/rings.h"

namespace weir::cli {
namespace {

std::string json_of(const PlanReport& report, const PlanArguments& arguments) {
  nlohmann::ordered_json json = {{"collective", name(report.task.collective)},
                                 {"bytes", arguments.task.bytes},
                                 {"ranks", report.ranks()},
                                 {"algorithm", report.algorithm()},
                                 {"trees", report.of_trees() ? report.best.tree_count() : 0},
                                 {"height", report.of_trees() ? report.best.height() : 0},
                                 {"algbw_GBps", report.predicted_gb_per_s()},
                                 {"busbw_GBps", report.bus_gb_per_s()},
                                 {"seconds", report.seconds()},
                                 {"simulated", report.simulated()},
                                 {"extrapolated", report.extrapolated()},
                                 {"slot_bytes", report.assumed.channels.slot_bytes},
                                 {"slots", report.assumed.channels.slots},
                                 {"latency_us", latencies_as_json(report.assumed.latencies)},
                                 {"bound_GBps", report.bound_gb_per_s()},
                                 {"links_GBps", report.links_gb_per_s()},
                                 {"ratio", report.part_of_bound()},
                                 {"ratio_exact", report.exact_part()},
                                 {"certificate", report.certificate()},
                                 {"plan_ms", report.milliseconds}};
  for (const algorithms::RankedPlan& plan : report.ranked)
    json["candidates"][plan.name] = plan.schedule.prediction.algbw;
  return json.dump(2) + "\n";
}

/// The second fastest plan, and its busiest links; empty if there is none.
std::string runner_up(const PlanReport& report) {
  if (report.ranked.size() < 2) return "";
  const std::string& name = report.ranked[1].name;
  const algorithms::Schedule& next = report.ranked[1].schedule;
  const std::vector<LinkGroup> groups = group_links(report.task, next.prediction.edge_bytes);
  return fmt::format(
      "runner-up    {}, {:.4g} GB/s: {:.2f} times as long; its busiest links are {} {}, for example {}\n",
      name, next.prediction.algbw, next.prediction.seconds / report.seconds(), groups[0].count,
      groups[0].words, groups[0].example);
}

/// The assumptions of the simulation.
std::string assumptions(const PlanReport& report) {
  if (report.relays && !report.simulated())
    return "from the loads of the links: moves of relays are not simulated";
  if (!report.simulated())
    return fmt::format("from the loads of the links: more than {} ranks are not simulated here",
                       algorithms::kMostRankedRanks);
  return "simulated with " + report.assumed.slots_words() +
         passes_words(report.ranked[0].schedule.prediction);
}

std::string words_of(const PlanReport& report, const PlanArguments& arguments) {
  std::string text = fmt::format("{} of {} bytes over {} ranks\n", name(report.task.collective),
                                 arguments.task.bytes, report.ranks());
  text += fmt::format("plan         {}\n", report.of_trees() || !report.simulated()
                                               ? report.best.words()
                                               : report.algorithm() + ", on the shortest routes");
  if (report.relays)
    text += fmt::format("relays       {} that {} not take part\n", plural(*report.relays, "GPU"),
                        *report.relays == 1 ? "does" : "do");
  text += fmt::format("predicted    {:.4g} GB/s (algbw), {:.4g} GB/s (busbw), {}: {}\n",
                      report.predicted_gb_per_s(), report.bus_gb_per_s(), seconds_words(report.seconds()),
                      assumptions(report));
  if (report.simulated()) text += latency_line(report.assumed);
  text += fmt::format("bound        {:.4g} GB/s: {}\n", report.bound_gb_per_s(), report.certificate());
  text += fmt::format("of the bound {:.4g}% predicted",
                      100 * report.predicted_gb_per_s() / report.bound_gb_per_s());
  if (report.best.part_of_bound == 1 && report.reaches_links())
    text += "; the links allow 100%: nothing can be faster";
  else if (report.links_tell())
    text += report.best.part_of_bound == 1
                ? "; the links allow 100%, but no order of the moves that was tried keeps them busy"
                : fmt::format("; the links allow {} = {:.4g}", report.exact_part(), report.part_of_bound());
  text += "\n";
  text += runner_up(report);
  text += fmt::format("planned and verified in {}\n", seconds_words(report.milliseconds / 1e3));
  return text;
}

std::string html_of(const PlanReport& report) {
  const auto figure = [](double gb_per_s) { return fmt::format("{:.4g} GB/s", gb_per_s); };
  std::vector<std::pair<std::string, std::string>> numbers = {
      {"algbw", figure(report.predicted_gb_per_s())},
      {"busbw", figure(report.bus_gb_per_s())},
      {"bound", figure(report.bound_gb_per_s())},
      {"of the bound",
       report.best.part_of_bound == 1 && report.reaches_links()
           ? "all"
           : fmt::format("{:.2f}%", 100 * report.predicted_gb_per_s() / report.bound_gb_per_s())}};
  if (report.best.trees() == nullptr)
    numbers.emplace_back("algorithm", report.best.algorithm());
  else
    numbers.emplace_back("trees", std::to_string(report.best.tree_count()));
  return plan_html(report.task, report.best, std::move(numbers),
                   {"The bound: " + report.certificate() + "."});
}

/// The plan in the form that --emit names.
Result<std::string> text_of(const PlanReport& report, const PlanArguments& arguments) {
  const ir::Plan& plan = report.ranked[0].schedule.plan;
  if (arguments.emit == "plan") {
    ir::Plan named = plan;
    WEIR_TRY(sim::name_ways(named, report.task.network));
    if (const auto message_bytes = static_cast<uint64_t>(report.assumed.channels.slot_bytes);
        message_bytes < kUsualSlotBytes)
      named.message_bytes = message_bytes;
    return ir::write_text(named);
  }
  if (arguments.emit == "msccl-xml") return msccl::write(plan);
  return mscclpp::write(plan, {rank_hosts(report.task), arguments.in_place});
}

int fail(const Status& status) { return report_failure("plan", status, kExitUsage); }

/// The best rings do not depend on trees, so no plan is made.
int print_rings(const PlanArguments& arguments) {
  const auto task = load_plan_task(arguments.task);
  if (!task.ok()) return fail(task.status());
  const auto text = graph_file_of(*task, arguments.host);
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
  auto* emit = command
                   ->add_option("--emit", arguments.emit,
                                "Print the plan as plan text (docs/plan-format.md), as msccl-xml or as "
                                "mscclpp-json, or the best "
                                "rings as nccl-graph")
                   ->check(one_of({"plan", "msccl-xml", "mscclpp-json", "nccl-graph"}))
                   ->excludes(json)
                   ->excludes(svg)
                   ->excludes(html)
                   ->excludes(table);
  command
      ->add_option(
          "--host", arguments.host,
          "With --emit nccl-graph and ranks on several hosts: the host whose file is written; NCCL reads "
          "one per host")
      ->needs(emit);
  command
      ->add_flag(
          "--in-place", arguments.in_place,
          "With --emit mscclpp-json: the plan is for calls whose input and output are one buffer; MSCCL++ "
          "selects a plan for one kind of calls")
      ->needs(emit);
  command
      ->add_flag("--relay", arguments.task.relay,
                 "GPUs that --ranks leaves out may forward what others send; no moves are written, and only "
                 "those of an all-to-all are simulated")
      ->excludes(table)
      ->excludes(emit);
  add_channels(command, arguments.channels);
  const std::vector<CLI::Option*> others = command->get_options();
  auto* compare = command->add_flag(
      "--compare", arguments.compare,
      "Print figures that others have published for well-known machines, and those of weir's plans for the "
      "same machines; with --json or alone");
  for (CLI::Option* other : others) {
    if (other != json && other != command->get_help_ptr()) compare->excludes(other);
  }
}

int run_plan(const PlanArguments& arguments) {
  if (arguments.emit == "nccl-graph") return print_rings(arguments);
  if (arguments.compare) return print_comparison(arguments.json);
  auto report = plan_report(arguments);
  if (!report.ok()) return fail(report.status());
  if (const std::string note = narrow_nics(report->task); !note.empty())
    fmt::print(stderr, "note: {}\n", note);
  if (arguments.table)
    fmt::print(stderr, "note: latencies: {}; --latency sets others\n", report->assumed.latency_words);
  if (!arguments.emit.empty() && !report->simulated()) {
    return fail({Code::invalid_argument,
                 fmt::format("the plan for {} ranks would have too many moves: expected at most {} ranks",
                             report->ranks(), algorithms::kMostSpelled)});
  }
  if (arguments.table) {
    const auto text = table_of(report->task, report->best, arguments.task.root, report->assumed.channels);
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
  const auto text = text_of(*report, arguments);
  if (!text.ok()) return fail(text.status());
  fmt::print("{}", *text);
  return 0;
}

}  // namespace weir::cli
