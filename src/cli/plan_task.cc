// SPDX-License-Identifier: Apache-2.0

#include "src/cli/plan_task.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <map>

#include "algorithms/cluster/hosts.h"
#include "algorithms/network/relays.h"
#include "src/base/spelling.h"
#include "src/base/text.h"

namespace weir::cli {
namespace {

using topology::Graph;
using topology::Index;
using topology::NodeKind;

constexpr uint64_t kMostBytes = uint64_t{1} << 60;  // a negative number is parsed as a larger one

/// Selects the entries "0-7,9" of `devices`, in that order.
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
          fmt::format("--ranks has {}, but the topology has devices 0 to {}", last, devices.size() - 1));
    for (size_t i = first; i <= last; ++i) some.push_back(devices[i]);
  }
  return some;
}

}  // namespace

Result<std::vector<Index>> devices_of(const Graph& graph, const std::string& ranks) {
  std::vector<Index> all = graph.all(NodeKind::gpu);
  if (all.empty()) all = graph.all(NodeKind::host);
  return ranks.empty() ? Result<std::vector<Index>>(std::move(all)) : chosen(all, ranks);
}

Result<Collective> collective_of(const std::string& text) {
  std::string plain = text;
  plain.erase(std::remove(plain.begin(), plain.end(), '_'), plain.end());
  std::vector<std::string> names;
  for (int kind = 0; kind < static_cast<int>(Collective::send_recv); ++kind) {
    std::string& own = names.emplace_back(name(static_cast<Collective>(kind)));
    own.erase(std::remove(own.begin(), own.end(), '_'), own.end());
    if (equals_ignoring_case(plain, own)) return static_cast<Collective>(kind);
  }
  Nearest nearest(plain);
  for (const std::string& own : names) nearest.consider(own);
  return Status(
      Code::invalid_argument,
      fmt::format("--collective is \"{}\"; expected allreduce, allgather, reducescatter, "
                  "broadcast, reduce, alltoall, gather or scatter{}",
                  text, nearest.found().empty() ? "" : fmt::format("; did you mean {}?", nearest.found())));
}

void add_plan_task(CLI::App* command, PlanTaskArguments& arguments) {
  add_sources(command, arguments.sources);
  command
      ->add_option("--collective", arguments.collective,
                   "Collective to plan: allreduce, allgather, reducescatter, broadcast, reduce, alltoall, "
                   "gather or scatter")
      ->capture_default_str();
  command
      ->add_option("--bytes", arguments.bytes,
                   "Size of the collective's whole buffer in bytes, with suffix K, M or G")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  command->add_option("--ranks", arguments.ranks,
                      "Numbers of the GPUs (or hosts) that take part, such as 0-7,9; default: all");
  command->add_option("--root", arguments.root, "Root rank of broadcast, reduce, gather and scatter");
}

std::vector<int> rank_hosts(const PlanTask& task) {
  std::map<Index, int> numbers;
  std::vector<int> hosts;
  for (const int32_t node : task.network.rank_nodes) {
    const Index device = task.network.origin[static_cast<size_t>(node)];
    const Index holder = task.graph.holder(device, NodeKind::host);
    const Index host = holder == topology::kNone ? device : holder;
    hosts.push_back(numbers.try_emplace(host, static_cast<int>(numbers.size())).first->second);
  }
  return hosts;
}

Result<PlanTask> load_plan_task(const PlanTaskArguments& arguments) {
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
  auto network = arguments.relay ? algorithms::network_with_relays(detected->graph, *devices)
                                 : algorithms::network_of(detected->graph, *devices);
  WEIR_TRY(network.status());
  std::vector<char> between_hosts = algorithms::switches_between_hosts(*network, detected->graph);
  return PlanTask{std::move(detected->graph), std::move(*network), std::move(between_hosts), *collective,
                  static_cast<double>(arguments.bytes)};
}

}  // namespace weir::cli
