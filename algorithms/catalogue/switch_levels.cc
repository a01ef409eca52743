// SPDX-License-Identifier: Apache-2.0

#include "algorithms/catalogue/switch_levels.h"

#include <vector>

#include "topology/model/derive.h"

namespace weir::algorithms {

using topology::FabricSwitchFacts;
using topology::Index;

SwitchLevels::SwitchLevels(const topology::Graph& graph) {
  const std::vector<Index> hosts = topology::hosts_of(graph);
  for (const topology::Link& link : graph.links()) {
    const auto* above = graph.get<FabricSwitchFacts>(link.to);
    if (above == nullptr) continue;
    const auto* below = graph.get<FabricSwitchFacts>(link.from);
    const Index from = below != nullptr ? link.from : hosts[static_cast<size_t>(link.from)];
    if (from != topology::kNone && (below == nullptr || below->level < above->level))
      up_[from].insert(link.to);
  }
}

Switches SwitchLevels::above(const Switches& below) const {
  Switches found;
  for (const Index node : below) {
    if (const auto up = up_.find(node); up != up_.end()) found.insert(up->second.begin(), up->second.end());
  }
  return found;
}

}  // namespace weir::algorithms
