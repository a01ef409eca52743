// SPDX-License-Identifier: Apache-2.0

#include "topology/model/nvswitch.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "topology/model/derive.h"
#include "topology/model/unions.h"

namespace weir::topology {
namespace {

struct Switch {
  Index node = kNone;
  int64_t count = 0;  ///< number of links to GPUs, and their bandwidth together
  double gb_per_s = 0;
};

using Group = std::vector<Switch>;

void join_groups(Graph& graph, const Group& first, const Group& other) {
  for (size_t i = 0; i < std::min(first.size(), other.size()); ++i) {
    const Switch &a = first[i], &b = other[i];
    const auto count = static_cast<int>(std::min<int64_t>({a.count, b.count, INT32_MAX}));
    graph.connect({a.node, b.node, LinkKind::nvlink, count, std::min(a.gb_per_s, b.gb_per_s), 0, -1});
  }
}

}  // namespace

void join_nvswitches(Graph& graph) {
  const std::vector<Index> switches = graph.all(NodeKind::nvswitch);
  if (switches.size() < 2) return;
  Unions sets(graph.size());
  std::map<Index, Switch> by_node;
  for (const Index node : switches) by_node[node].node = node;
  for (const Link& link : graph.links()) {
    const auto from = by_node.find(link.from);
    if (from == by_node.end() || link.kind != LinkKind::nvlink) continue;
    sets.join(link.from, link.to);
    if (by_node.count(link.to) > 0) continue;
    from->second.count += link.count;
    from->second.gb_per_s += link.gb_per_s;
  }
  const std::vector<Index> hosts = hosts_of(graph);
  std::map<Index, std::map<Index, Group>> by_host;
  for (const auto& [node, one] : by_node) {
    const Index host = hosts[static_cast<size_t>(node)];
    if (host != kNone && one.count > 0) by_host[host][sets.find(node)].push_back(one);
  }
  for (const auto& [host, groups] : by_host) {
    for (auto other = std::next(groups.begin()); other != groups.end(); ++other)
      join_groups(graph, groups.begin()->second, other->second);
  }
}

}  // namespace weir::topology
