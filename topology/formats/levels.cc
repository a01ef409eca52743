// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/levels.h"

namespace weir::topology {

void assign_levels(Graph& graph) {
  const auto is_switch = [&](Index node) { return graph[node].kind() == NodeKind::fabric_switch; };
  const std::vector<Index> switches = graph.all(NodeKind::fabric_switch);
  for (const Index node : switches) graph.get<FabricSwitchFacts>(node)->level = 0;
  const Adjacency adjacency(graph);
  std::vector<Index> reached;
  const auto reach = [&](Index node, int level) {
    FabricSwitchFacts* facts = graph.get<FabricSwitchFacts>(node);
    if (facts->level != 0) return;
    facts->level = level;
    reached.push_back(node);
  };
  for (const Index node : switches) {
    for (const uint32_t link : adjacency.from(node)) {
      if (!is_switch(graph.links()[link].to)) reach(node, 1);
    }
  }
  for (size_t i = 0; i < reached.size(); ++i) {
    const int level = graph.get<FabricSwitchFacts>(reached[i])->level;
    for (const uint32_t link : adjacency.from(reached[i])) {
      const Index to = graph.links()[link].to;
      if (is_switch(to)) reach(to, level + 1);
    }
  }
  for (const Index node : switches) {
    FabricSwitchFacts* facts = graph.get<FabricSwitchFacts>(node);
    if (facts->level == 0) facts->level = 1;
  }
}

}  // namespace weir::topology
