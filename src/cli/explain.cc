// SPDX-License-Identifier: Apache-2.0

#include "src/cli/explain.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>

#include "algorithms/best_plan/best_plan.h"
#include "algorithms/bound/bound.h"
#include "algorithms/packing/rational.h"
#include "algorithms/sim/plan_loads.h"
#include "src/base/text.h"
#include "src/cli/failure.h"
#include "src/cli/link_loads.h"

namespace weir::cli {
namespace {

constexpr size_t kMostGroups = 16;

struct Loads {
  std::string algorithm;
  std::vector<double> edge_bytes;  ///< bytes on each edge of the network
  algorithms::Rational time;       ///< T / M, multiplied by one unit of capacity
};

/// Loads of the best plan come from its proof; loads of any other schedule from the shortest routes.
Result<Loads> loads_of(const ExplainArguments& arguments, const PlanTask& task) {
  const double bytes = task.bytes;
  if (arguments.schedule.plan.empty() && arguments.schedule.algorithm.empty()) {
    auto best = algorithms::best_plan(task.request(arguments.task.root));
    WEIR_TRY(best.status());
    return Loads{best->algorithm(), std::move(best->edge_bytes), best->time};
  }
  const auto plan = load_schedule(arguments.schedule, task, arguments.task, {});
  WEIR_TRY(plan.status());
  sim::FlowRoutes routes(task.network);
  const auto exact = sim::loads_of(*plan, task.network, routes);
  WEIR_TRY(exact.status());
  Loads loads{plan->algorithm, {}, algorithms::exactly(exact->time)};
  for (const int64_t chunks : exact->chunks)
    loads.edge_bytes.push_back(bytes * static_cast<double>(chunks) / static_cast<double>(exact->whole));
  return loads;
}

Result<std::string> explain(const ExplainArguments& arguments) {
  const auto task = load_plan_task(arguments.task);
  WEIR_TRY(task.status());
  const auto loads = loads_of(arguments, *task);
  WEIR_TRY(loads.status());
  const auto bound = algorithms::lower_bound(task->network, task->collective, arguments.task.root);
  WEIR_TRY(bound.status());
  const double bytes = task->bytes;
  const std::vector<LinkGroup> groups = group_links(*task, loads->edge_bytes);
  std::string text =
      fmt::format("{} of {} over {} by {}: the busiest links need {}\n", name(task->collective),
                  bytes_words(bytes), plural(task->network.ranks(), "rank"), loads->algorithm,
                  seconds_words(groups.empty() ? 0 : groups[0].seconds));
  text += fmt::format("{:>6}{:>10}{:>9}{:>7}\n", "busy", "bytes", "GB/s", "links");
  size_t shown = 0;
  int64_t idle = 0, others = 0;
  for (const LinkGroup& group : groups) {
    if (group.bytes <= 0) {
      idle += group.count;
    } else if (shown == kMostGroups) {
      others += group.count;
    } else {
      ++shown;
      text += fmt::format("{:>5.3g}%{:>10}{:>9.4g}{:>7}  {}: {}\n", group.seconds / groups[0].seconds * 100,
                          bytes_words(group.bytes), group.gb_per_s, group.count, group.words, group.example);
    }
  }
  if (others > 0) text += fmt::format("{} less busy, not listed\n", plural(others, "link"));
  if (idle > 0) text += fmt::format("{} without traffic\n", plural(idle, "link"));
  text += fmt::format("bound {}: {}\n",
                      seconds_words(bytes * bound->time.value() / algorithms::kCapacityUnit / 1e9),
                      algorithms::explain(*bound, task->network, task->graph));
  const algorithms::Rational part = loads->time > 0 ? algorithms::exactly(bound->time) / loads->time : 1;
  text += fmt::format(
      "bound / plan {}{}\n", part.str(),
      part == 1 ? ": nothing can be faster" : fmt::format(" = {:.4g}", part.convert_to<double>()));
  return text;
}

}  // namespace

void add_explain(CLI::App& app, ExplainArguments& arguments) {
  CLI::App* command = app.add_subcommand(
      "explain", "Show how many bytes of a collective each kind of link carries, and which links limit it");
  add_plan_task(command, arguments.task);
  add_schedule(command, arguments.schedule);
}

int run_explain(const ExplainArguments& arguments) {
  const auto text = explain(arguments);
  if (!text.ok()) return report_failure("explain", text.status(), kExitUsage);
  fmt::print("{}", *text);
  return 0;
}

}  // namespace weir::cli
