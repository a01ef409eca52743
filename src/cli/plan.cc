#include "src/cli/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "algorithms/cluster/cluster_words.h"
#include "algorithms/cluster/hosts.h"
#include "algorithms/ir/text.h"
#include "algorithms/planner/planner.h"
#include "src/base/text.h"

namespace weir::cli {
namespace {

using algorithms::CollectivePlan;
using topology::Graph;
using topology::Index;
using topology::NodeKind;

constexpr int kExitUsage = 2;
constexpr uint64_t kMostBytes = uint64_t{1} << 60;  // what is negative is read as more

struct Named {
  std::string_view name;
  Collective collective;
};
constexpr Named kCollectives[] = {{"allreduce", Collective::all_reduce},
                                  {"allgather", Collective::all_gather},
                                  {"reducescatter", Collective::reduce_scatter},
                                  {"broadcast", Collective::broadcast},
                                  {"reduce", Collective::reduce}};

Result<Collective> collective_of(const std::string& text) {
  for (const Named& named : kCollectives) {
    if (equals_ignoring_case(text, named.name)) return named.collective;
  }
  return Status(
      Code::invalid_argument,
      fmt::format("--collective is \"{}\"; expected allreduce, allgather, reducescatter, broadcast or reduce",
                  text));
}

/// "0-7,9" of `devices`, in that order.
Result<std::vector<Index>> chosen(const std::vector<Index>& devices, const std::string& text) {
  std::vector<Index> some;
  for (const std::string_view part : split_list(text)) {
    size_t first = 0;
    const char* const end = part.data() + part.size();
    auto [at, error] = std::from_chars(part.data(), end, first);
    size_t last = first;
    if (error == std::errc() && at != end && *at == '-') {
      const auto range = std::from_chars(at + 1, end, last);
      at = range.ptr, error = range.ec;
    }
    if (error != std::errc() || at != end || last < first)
      return Status(Code::invalid_argument,
                    fmt::format("--ranks has \"{}\"; expected numbers and ranges such as 0-7,9", part));
    if (last >= devices.size())
      return Status(
          Code::invalid_argument,
          fmt::format("--ranks has {}, and the topology has devices 0 to {}", last, devices.size() - 1));
    for (size_t i = first; i <= last; ++i) some.push_back(devices[i]);
  }
  return some;
}

/// What ranks sit on: all GPUs, or where there are none all hosts.
Result<std::vector<Index>> devices_of(const Graph& graph, const std::string& ranks) {
  std::vector<Index> all = graph.all(NodeKind::gpu);
  if (all.empty()) all = graph.all(NodeKind::host);
  return ranks.empty() ? Result<std::vector<Index>>(std::move(all)) : chosen(all, ranks);
}

/// A plan with its figures, as they are printed.
struct Report {
  Graph graph;
  algorithms::Network network;
  CollectivePlan plan;
  double milliseconds = 0;

  int ranks() const { return network.ranks(); }
  static double gb_per_s(double time) { return algorithms::kCapacityUnit / time; }
  double bound_gb_per_s() const { return gb_per_s(plan.bound.time.value()); }
  double algorithm_gb_per_s() const { return gb_per_s(plan.time.convert_to<double>()); }
  /// nccl-tests' factor: what each rank's own link has to carry.
  double bus_gb_per_s() const {
    const double n = ranks();
    const double factor = plan.collective == Collective::all_reduce ? 2 * (n - 1) / n
                          : has_root(plan.collective)               ? 1
                                                                    : (n - 1) / n;
    return algorithm_gb_per_s() * factor;
  }
  std::string exact_ratio() const { return plan.part_of_bound.str(); }
  /// Different trees, each with its multiplicity once; of a plan by hosts those of one host.
  size_t tree_count() const {
    if (!plan.trees.has_value()) return algorithms::trees_in_hosts(cluster());
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
               ? fmt::format("{}, at most {} hops high", plural(tree_count(), "spanning tree"), height())
               : algorithms::words_of(cluster());
  }
  const algorithms::ClusterPlan& cluster() const { return (plan.down ? plan.down : plan.up)->plan; }
};

Result<Report> plan(const PlanArguments& arguments) {
  const auto collective = collective_of(arguments.collective);
  WEIR_TRY(collective.status());
  std::unique_ptr<drivers::Machine> machine;
  auto detected = look(arguments.sources, machine);
  WEIR_TRY(detected.status());
  print_findings(*detected, arguments.sources);
  Report report;
  report.graph = std::move(detected->graph);
  const auto devices = devices_of(report.graph, arguments.ranks);
  WEIR_TRY(devices.status());
  const auto begin = std::chrono::steady_clock::now();
  auto network = algorithms::network_of(report.graph, *devices);
  WEIR_TRY(network.status());
  report.network = std::move(*network);
  auto planned = algorithms::plan_collective(report.network,
                                             algorithms::switches_between_hosts(report.network, report.graph),
                                             *collective, arguments.root);
  WEIR_TRY(planned.status());
  report.plan = std::move(*planned);
  report.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

std::string json_of(const Report& report, const PlanArguments& arguments) {
  const nlohmann::ordered_json json = {
      {"collective", name(report.plan.collective)},
      {"bytes", arguments.bytes},
      {"ranks", report.ranks()},
      {"algorithm", report.plan.trees.has_value() ? "trees" : "hierarchical"},
      {"trees", report.tree_count()},
      {"height", report.height()},
      {"algbw_GBps", report.algorithm_gb_per_s()},
      {"busbw_GBps", report.bus_gb_per_s()},
      {"bound_GBps", report.bound_gb_per_s()},
      {"ratio", report.plan.part_of_bound.convert_to<double>()},
      {"ratio_exact", report.exact_ratio()},
      {"certificate", algorithms::explain(report.plan.bound, report.network, report.graph)},
      {"plan_ms", report.milliseconds}};
  return json.dump(2) + "\n";
}

std::string words_of(const Report& report, const PlanArguments& arguments) {
  const double seconds = static_cast<double>(arguments.bytes) / 1e9 / report.algorithm_gb_per_s();
  std::string text = fmt::format("{} of {} bytes over {} ranks\n", name(report.plan.collective),
                                 arguments.bytes, report.ranks());
  text += fmt::format("plan         {}\n", report.words());
  text += fmt::format("predicted    {:.4g} GB/s (algbw), {:.4g} GB/s (busbw), {:.4g} ms without latencies\n",
                      report.algorithm_gb_per_s(), report.bus_gb_per_s(), seconds * 1e3);
  text += fmt::format("bound        {:.4g} GB/s: {}\n", report.bound_gb_per_s(),
                      algorithms::explain(report.plan.bound, report.network, report.graph));
  text += report.plan.part_of_bound == 1 ? "of the bound all: nothing can be faster\n"
                                         : fmt::format("of the bound {} = {:.4g}\n", report.exact_ratio(),
                                                       report.plan.part_of_bound.convert_to<double>());
  text += fmt::format("judged and planned in {:.3g} ms\n", report.milliseconds);
  return text;
}

int fail(const Status& status) {
  fmt::print(stderr, "weir plan: {}\n", status.message());
  return kExitUsage;
}

}  // namespace

void add_plan(CLI::App& app, PlanArguments& arguments) {
  CLI::App* command = app.add_subcommand(
      "plan", "Plan a collective as trees on a topology, and say how far that is from what is possible");
  add_sources(command, arguments.sources);
  command
      ->add_option("--collective", arguments.collective,
                   "allreduce, allgather, reducescatter, broadcast or reduce")
      ->capture_default_str();
  command->add_option("--bytes", arguments.bytes, "Size of the whole, with K, M or G")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  command->add_option("--ranks", arguments.ranks, "Numbers of the GPUs (or hosts) that take part: 0-7,9");
  command->add_option("--root", arguments.root, "Rank of the root");
  auto* json = command->add_flag("--json", arguments.json, "As JSON");
  command->add_flag("--emit", arguments.emit, "The plan itself, as text that the verifier reads")
      ->excludes(json);
}

int run_plan(const PlanArguments& arguments) {
  if (arguments.bytes > kMostBytes) {
    return fail({Code::invalid_argument,
                 fmt::format("--bytes is {}; expected 0 to {}", arguments.bytes, kMostBytes)});
  }
  auto report = plan(arguments);
  if (!report.ok()) return fail(report.status());
  if (arguments.emit) {
    const auto schedule = algorithms::schedule(report->plan, report->network);
    if (!schedule.ok()) return fail(schedule.status());
    fmt::print("{}", ir::write_text(*schedule));
    return 0;
  }
  fmt::print("{}", arguments.json ? json_of(*report, arguments) : words_of(*report, arguments));
  return 0;
}

}  // namespace weir::cli
