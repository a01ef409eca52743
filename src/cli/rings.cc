// SPDX-License-Identifier: Apache-2.0

#include "src/cli/rings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "algorithms/rings/pack_rings.h"
#include "src/cli/host_rings.h"
#include "topology/formats/nccl_graph_xml.h"

namespace weir::cli {
namespace {

using topology::Index;

/// The GPUs of the ranks, by host.
Result<std::map<Index, std::vector<Index>>> gpus_by_host(const PlanTask& task) {
  std::map<Index, std::vector<Index>> hosts;
  for (const int32_t node : task.network.rank_nodes) {
    const Index device = task.network.origin[static_cast<size_t>(node)];
    if (task.graph.get<topology::GpuFacts>(device) == nullptr)
      return Status(Code::invalid_argument,
                    fmt::format("{} is no GPU; expected GPUs, because a graph file holds rings of GPUs",
                                task.graph.describe(device)));
    hosts[task.graph.holder(device, topology::NodeKind::host)].push_back(device);
  }
  return hosts;
}

/// The rings of GPUs that are all on one host.
Result<topology::ChannelGraph> closed_rings(const PlanTask& task, const std::vector<Index>& gpus) {
  const auto packing = algorithms::pack_rings(task.network);
  WEIR_TRY(packing.status());
  const std::vector<int64_t> devices = device_numbers(task.graph, gpus);
  topology::ChannelGraph graph;
  graph.speed_intra = graph.speed_inter = packing->bandwidth.value() * algorithms::kCapacityUnit;
  graph.type_intra = graph.type_inter = topology::PathClass::sys;  // widest class that NCCL searches
  for (const algorithms::Ring& ring : algorithms::spelled_out(*packing)) {
    std::vector<topology::ChannelStop>& channel = graph.channels.emplace_back();
    for (const Rank rank : ring) channel.push_back({.device = devices[static_cast<size_t>(rank)]});
  }
  return graph;
}

/// The words "host0, host1, ...", shortened.
std::string names_of(const PlanTask& task, const std::map<Index, std::vector<Index>>& hosts) {
  constexpr size_t kMostNames = 8;
  std::string names;
  size_t count = 0;
  for (const auto& [host, gpus] : hosts) {
    if (count++ == kMostNames) return names + ", ...";
    names += (names.empty() ? "" : ", ") + task.graph[host].name;
  }
  return names;
}

}  // namespace

Result<std::string> graph_file_of(const PlanTask& task, const std::string& host) {
  const auto hosts = gpus_by_host(task);
  WEIR_TRY(hosts.status());
  if (host.empty() && hosts->size() > 1)
    return Status(
        Code::invalid_argument,
        fmt::format("a graph file holds the rings inside one host, and the GPUs are on {}; expected "
                    "GPUs of one host, or --host NAME with one of {}",
                    hosts->size(), names_of(task, *hosts)));
  const auto chosen =
      host.empty() ? hosts->begin() : std::find_if(hosts->begin(), hosts->end(), [&](const auto& one) {
        return task.graph[one.first].name == host;
      });
  if (chosen == hosts->end())
    return Status(Code::invalid_argument, fmt::format("--host is \"{}\"; expected a host of the ranks: {}",
                                                      host, names_of(task, *hosts)));
  const auto graph = hosts->size() == 1 ? closed_rings(task, chosen->second)
                                        : rings_between_nics(task.graph, chosen->first, chosen->second);
  WEIR_TRY(graph.status());
  return topology::write_nccl_graph_xml({*graph});
}

}  // namespace weir::cli
