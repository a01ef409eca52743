// SPDX-License-Identifier: Apache-2.0

#include "src/cli/rings.h"

#include <algorithm>
#include <set>

#include "algorithms/rings/pack_rings.h"
#include "topology/formats/nccl_graph_xml.h"

namespace weir::cli {
namespace {

using topology::Index;

/// Device number of each rank; negative for a rank without one.
std::vector<int> devices_of(const PlanTask& task) {
  std::vector<int> devices;
  for (const int32_t node : task.network.rank_nodes) {
    const auto* gpu = task.graph.get<topology::GpuFacts>(task.network.origin[static_cast<size_t>(node)]);
    devices.push_back(gpu == nullptr ? -1 : gpu->device);
  }
  return devices;
}

bool on_one_host(const PlanTask& task) {
  std::set<Index> hosts;
  for (const int32_t node : task.network.rank_nodes) {
    const Index device = task.network.origin[static_cast<size_t>(node)];
    if (task.graph.get<topology::GpuFacts>(device) == nullptr) return false;
    hosts.insert(task.graph.holder(device, topology::NodeKind::host));
  }
  return hosts.size() == 1;
}

}  // namespace

Result<std::string> graph_file_of(const PlanTask& task) {
  if (!on_one_host(task))
    return Status(Code::invalid_argument,
                  "a graph file holds the rings of one host only; expected GPUs of one host");
  const auto packing = algorithms::pack_rings(task.network);
  WEIR_TRY(packing.status());
  const std::vector<int> devices = devices_of(task);
  const bool numbered = std::ranges::min(devices) >= 0;
  topology::ChannelGraph graph;
  graph.speed_intra = graph.speed_inter = packing->bandwidth.value() * algorithms::kCapacityUnit;
  graph.type_intra = graph.type_inter = topology::PathClass::sys;  // widest class that NCCL searches
  for (const algorithms::Ring& ring : algorithms::spelled_out(*packing)) {
    std::vector<topology::ChannelStop>& channel = graph.channels.emplace_back();
    for (const Rank rank : ring)
      channel.push_back({.device = numbered ? devices[static_cast<size_t>(rank)] : rank});
  }
  return topology::write_nccl_graph_xml({graph});
}

}  // namespace weir::cli
