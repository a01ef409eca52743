// SPDX-License-Identifier: Apache-2.0

#include "topology/model/lost_cables.h"

#include <algorithm>

namespace weir::topology {

std::vector<std::string> remove_lost_cables(Graph& graph, const PortNames& without_link) {
  for (const Index port : graph.all(NodeKind::port)) {
    const Index host = graph.holder(port, NodeKind::host);
    if (host == kNone) continue;
    const auto found = without_link.find(graph.get<HostFacts>(host)->identity);
    if (found == without_link.end()) continue;
    const auto named = [&](Index node) { return node != kNone && found->second.contains(graph[node].name); };
    graph.get<PortFacts>(port)->active = !named(port) && !named(graph.holder(port, NodeKind::nic));
  }
  std::set<Index> lost;
  std::erase_if(graph.links(), [&](const Link& link) {
    const auto lost_at = [&](Index end) {
      const auto* port = graph.get<PortFacts>(end);
      if (port == nullptr || port->active) return false;
      lost.insert(end);
      return true;
    };
    return link.kind == LinkKind::cable && (lost_at(link.from) || lost_at(link.to));
  });
  std::vector<std::string> descriptions;
  for (const Index port : lost) {
    const Index nic = graph.holder(port, NodeKind::nic);
    descriptions.push_back(graph.describe(nic == kNone ? port : nic));
    if (nic != kNone && graph[port].name != graph[nic].name)
      descriptions.back() += ", port " + graph[port].name;
  }
  return descriptions;
}

}  // namespace weir::topology
