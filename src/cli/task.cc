#include "src/cli/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "algorithms/catalogue.h"
#include "algorithms/cluster/hosts.h"
#include "algorithms/ir/relabel.h"
#include "algorithms/ir/text.h"
#include "algorithms/ir/verify.h"
#include "algorithms/layout.h"
#include "algorithms/msccl/msccl.h"
#include "algorithms/planned.h"
#include "src/base/text.h"
#include "src/cli/rings.h"

namespace weir::cli {
namespace {

using topology::Graph;
using topology::Index;
using topology::NodeKind;

constexpr uint64_t kMostBytes = uint64_t{1} << 60;  // what is negative is read as more
constexpr size_t kMostPlanBytes = size_t{1} << 30;

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

Result<std::string> whole_input() {
  std::string text;
  char buffer[1 << 16];
  for (size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, stdin)) > 0;) text.append(buffer, got);
  return text;
}

}  // namespace

Result<Collective> collective_of(const std::string& text) {
  std::string plain = text;
  plain.erase(std::remove(plain.begin(), plain.end(), '_'), plain.end());
  for (int kind = 0; kind < static_cast<int>(Collective::send_recv); ++kind) {
    std::string own(name(static_cast<Collective>(kind)));
    own.erase(std::remove(own.begin(), own.end(), '_'), own.end());
    if (equals_ignoring_case(plain, own)) return static_cast<Collective>(kind);
  }
  return Status(Code::invalid_argument,
                fmt::format("--collective is \"{}\"; expected allreduce, allgather, reducescatter, "
                            "broadcast, reduce, alltoall, gather or scatter",
                            text));
}

void add_task(CLI::App* command, TaskArguments& arguments) {
  add_sources(command, arguments.sources);
  command
      ->add_option("--collective", arguments.collective,
                   "allreduce, allgather, reducescatter, broadcast, reduce, alltoall, gather or scatter")
      ->capture_default_str();
  command->add_option("--bytes", arguments.bytes, "Size of the whole, with K, M or G")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  command->add_option("--ranks", arguments.ranks, "Numbers of the GPUs (or hosts) that take part: 0-7,9");
  command->add_option("--root", arguments.root, "Rank of the root");
}

Result<Task> load_task(const TaskArguments& arguments) {
  if (arguments.bytes > kMostBytes) {
    return Status(Code::invalid_argument,
                  fmt::format("--bytes is {}; expected 0 to {}", arguments.bytes, kMostBytes));
  }
  const auto collective = collective_of(arguments.collective);
  WEIR_TRY(collective.status());
  std::unique_ptr<drivers::Machine> machine;
  auto detected = look(arguments.sources, machine);
  WEIR_TRY(detected.status());
  print_findings(*detected, arguments.sources);
  const auto devices = devices_of(detected->graph, arguments.ranks);
  WEIR_TRY(devices.status());
  auto network = algorithms::network_of(detected->graph, *devices);
  WEIR_TRY(network.status());
  std::vector<char> between_hosts = algorithms::switches_between_hosts(*network, detected->graph);
  return Task{std::move(detected->graph), std::move(*network), std::move(between_hosts), *collective,
              static_cast<double>(arguments.bytes)};
}

Result<algorithms::CollectivePlan> plan_task(const Task& task, Rank root) {
  return algorithms::plan_collective(task.network, task.between_hosts, task.collective, root);
}

Result<ir::Plan> load_plan(const std::string& file) {
  const auto text = file == "-" ? whole_input() : drivers::read_whole(file, kMostPlanBytes);
  WEIR_TRY(text.status());
  const std::string name = file == "-" ? "standard input" : file;
  const size_t first = text->find_first_not_of(" \t\r\n");
  if (first != std::string::npos && (*text)[first] == '<') return msccl::read(*text, name);
  auto plan = ir::read_text(*text);
  if (!plan.ok()) return Status(plan.status().code(), fmt::format("{}: {}", name, plan.status().message()));
  return plan;
}

Result<ir::Plan> plan_by(std::string_view algorithm, const Task& task, Rank root) {
  std::vector<Index> hosts;
  for (const int32_t node : task.network.rank_nodes)
    hosts.push_back(task.graph.holder(task.network.origin[static_cast<size_t>(node)], NodeKind::host));
  algorithms::Layout layout = algorithms::layout_of(task.graph, hosts);
  if (algorithm == "ring_set") {
    auto rings = rings_of(task, layout.order);
    WEIR_TRY(rings.status());
    layout.rings = std::move(*rings);
  }
  if (algorithm == "planned") algorithms::join(layout, task.network, task.between_hosts);
  const int ranks = task.network.ranks();
  const algorithms::Entry* entry = algorithms::find(algorithm, task.collective);
  ir::Shape shape{task.collective, ranks, root,
                  entry == nullptr ? 1 : algorithms::default_chunks(*entry, ranks, layout)};
  if (has_root(task.collective) && root >= 0 && root < ranks)
    shape.root =
        static_cast<Rank>(std::find(layout.order.begin(), layout.order.end(), root) - layout.order.begin());
  auto plan = algorithms::emit(algorithm, shape, layout);
  WEIR_TRY(plan.status());
  return ir::relabelled(std::move(*plan), layout.order);
}

void add_schedule(CLI::App* command, ScheduleArguments& arguments) {
  auto* plan = command->add_option("--plan", arguments.plan,
                                   "A plan: text (docs/plan-format.md) or MSCCL XML; -: standard input");
  command
      ->add_option("--algorithm", arguments.algorithm, "One of the library's instead: ring, double_tree, ...")
      ->excludes(plan);
}

Result<ir::Plan> load_schedule(const ScheduleArguments& arguments, const Task& task,
                               const TaskArguments& asked) {
  const int ranks = task.network.ranks();
  if (!arguments.algorithm.empty()) return plan_by(arguments.algorithm, task, asked.root);
  if (arguments.plan.empty()) {
    const auto best = plan_task(task, asked.root);
    WEIR_TRY(best.status());
    return algorithms::schedule(*best, task.network);
  }
  auto plan = load_plan(arguments.plan);
  WEIR_TRY(plan.status());
  if (plan->shape.ranks != ranks) {
    return Status(Code::invalid_argument,
                  fmt::format("{} is a plan for {}, and the topology has {}; --ranks can choose some",
                              arguments.plan, plural(plan->shape.ranks, "rank"), ranks));
  }
  if (plan->shape.kind != task.collective) {
    return Status(Code::invalid_argument,
                  fmt::format("{} is a plan for {}; say --collective {}", arguments.plan,
                              name(plan->shape.kind), name(plan->shape.kind)));
  }
  if (const Status proof = ir::verify(*plan); !proof.ok())
    return Status(Code::invalid_argument, fmt::format("{} is wrong: {}", arguments.plan, proof.message()));
  return plan;
}

}  // namespace weir::cli
