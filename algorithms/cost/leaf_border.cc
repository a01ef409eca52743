// SPDX-License-Identifier: Apache-2.0

#include "algorithms/cost/leaf_border.h"

#include <algorithm>
#include <iterator>

#include "topology/model/derive.h"

namespace weir::cost {

std::optional<Border> leaf_border(const topology::Graph& graph, std::span<const topology::Index> hosts) {
  const std::vector<topology::Leaf> leaves = topology::leaves(graph);
  Border border;
  border.group_of = topology::groups_by_leaf(leaves, hosts);
  if (std::ranges::count(border.group_of, 0) == std::ssize(border.group_of)) return std::nullopt;
  double narrowest = 0;
  for (const topology::Index host : hosts) {
    double up = 0;
    for (const topology::Leaf& leaf : leaves)
      if (std::ranges::binary_search(leaf.hosts, host)) up += leaf.up_gb_per_s;
    if (up <= 0) return std::nullopt;
    narrowest = narrowest == 0 ? up : std::min(narrowest, up);
  }
  border.beta = 1 / (narrowest * 1e9);
  return border;
}

}  // namespace weir::cost
