// SPDX-License-Identifier: Apache-2.0

#include "algorithms/proof/way_loads.h"

#include <algorithm>
#include <utility>

#include "algorithms/proof/wrong.h"
#include "src/base/index.h"

namespace weir::algorithms {

Status load_way(const Network& network, std::span<const Way> ways, int32_t from, int32_t to, Int128 units,
                Int128 times, std::vector<Int128>& loads) {
  const auto way =
      std::lower_bound(ways.begin(), ways.end(), std::pair(from, to),
                       [](const Way& each, const auto& key) { return std::pair(each.from, each.to) < key; });
  if (way == ways.end() || way->from != from || way->to != to)
    return wrong("the paths from node {} to node {} are missing", from, to);
  Int128 weights = 0;
  for (const Way::Path& path : way->paths) weights += path.weight;
  if (weights <= 0 || units % weights != 0)
    return wrong("{} parts cannot be divided among the paths from node {} to node {}",
                 static_cast<int64_t>(units), from, to);
  for (const Way::Path& path : way->paths) {
    int32_t node = from;
    for (const int32_t number : path.edges) {
      if (number < 0 || at(number) >= network.edges.size() || network.edges[at(number)].from != node)
        return wrong("a path from node {} to node {} is broken", from, to);
      loads[at(number)] += units / weights * path.weight * times;
      node = network.edges[at(number)].to;
    }
    if (node != to) return wrong("a path from node {} ends at node {}, not at node {}", from, node, to);
  }
  return {};
}

}  // namespace weir::algorithms
