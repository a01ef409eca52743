// SPDX-License-Identifier: Apache-2.0

#include "topology/model/pci_fabric.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "topology/model/derive.h"
#include "topology/model/rates.h"

namespace weir::topology {

int join_pci_fabrics(Graph& graph) {
  const std::vector<Index> hosts = hosts_of(graph);
  std::map<std::pair<Index, std::string>, Index> by_address;
  for (const Index node : graph.all(NodeKind::bridge))
    by_address.emplace(std::pair(hosts[static_cast<size_t>(node)], pci_of(graph[node])->address), node);
  std::set<std::pair<Index, Index>> pairs;
  for (const Index node : graph.all(NodeKind::bridge)) {
    for (const std::string& address : graph.get<BridgeFacts>(node)->peers) {
      const auto peer = by_address.find({hosts[static_cast<size_t>(node)], address});
      if (peer != by_address.end() && peer->second != node) pairs.insert(std::minmax(node, peer->second));
    }
  }
  for (const auto& [a, b] : pairs) graph.connect({a, b, LinkKind::pci, 1, kInnerGbPerS, 0, -1});
  return static_cast<int>(pairs.size());
}

}  // namespace weir::topology
