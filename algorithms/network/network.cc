// SPDX-License-Identifier: Apache-2.0

#include "algorithms/network/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "src/base/types.h"

namespace weir::algorithms {

Status check(const Network& network) {
  const auto wrong = [](std::string sentence) { return Status(Code::invalid_argument, std::move(sentence)); };
  if (network.rank_nodes.empty()) return wrong("a network without ranks: expected at least one");
  std::vector<Rank> rank_at(static_cast<size_t>(std::max(0, network.nodes)), -1);
  for (Rank rank = 0; rank < network.ranks(); ++rank) {
    const int32_t node = network.rank_nodes[static_cast<size_t>(rank)];
    if (node < 0 || node >= network.nodes) {
      return wrong(fmt::format("rank {} is on node {}: expected a node below {}", rank, node, network.nodes));
    }
    Rank& there = rank_at[static_cast<size_t>(node)];
    if (there >= 0)
      return wrong(
          fmt::format("ranks {} and {} are both on node {}: expected one node per rank", there, rank, node));
    there = rank;
  }
  for (const Edge& edge : network.edges) {
    if (edge.from < 0 || edge.from >= network.nodes || edge.to < 0 || edge.to >= network.nodes ||
        edge.from == edge.to) {
      return wrong(fmt::format("an edge from node {} to node {}: expected two different ones below {}",
                               edge.from, edge.to, network.nodes));
    }
    if (edge.capacity <= 0) {
      return wrong(fmt::format("the edge from node {} to node {} has a capacity of {}: expected more than 0",
                               edge.from, edge.to, edge.capacity));
    }
  }
  return {};
}

}  // namespace weir::algorithms
