// SPDX-License-Identifier: Apache-2.0

#include "algorithms/packing/islands.h"

#include <numeric>

namespace weir::algorithms {

Islands::Islands(const LogicalGraph& graph) : nodes_(graph.nodes()) {
  for (int from = 0; from < nodes_; ++from) {
    for (int to : graph.targets(from)) links_.push_back({from, to, graph.capacity(from, to)});
  }
}

Islands::Names Islands::without(int node) const {
  __int128 entering = 0;
  int64_t count = 0;
  for (const Link& link : links_) {
    if (link.to != node) continue;
    entering += link.capacity;
    ++count;
  }
  Names name(static_cast<size_t>(nodes_));
  std::iota(name.begin(), name.end(), 0);
  const auto find = [&](int at) {
    while (name[static_cast<size_t>(at)] != at) at = name[static_cast<size_t>(at)];
    return at;
  };
  for (const Link& link : links_) {
    if (link.from == node || link.to == node) continue;
    if (static_cast<__int128>(link.capacity) * count <= entering) continue;
    name[static_cast<size_t>(find(link.from))] = find(link.to);
  }
  for (int at = 0; at < nodes_; ++at) name[static_cast<size_t>(at)] = find(at);
  return name;
}

}  // namespace weir::algorithms
