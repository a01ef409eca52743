// SPDX-License-Identifier: Apache-2.0

#include "algorithms/planner/nearest_nics.h"

#include <algorithm>
#include <utility>

#include "src/base/index.h"

namespace weir::algorithms {
namespace {

using topology::LinkKind;

/// Whether the first rank reaches all others, forwards along the edges or backwards.
bool reaches_all(const Network& network, bool forwards) {
  std::vector<std::vector<int32_t>> next(at(network.nodes));
  for (const Edge& edge : network.edges)
    next[at(forwards ? edge.from : edge.to)].push_back(forwards ? edge.to : edge.from);
  std::vector<char> reached(at(network.nodes));
  std::vector<int32_t> order = {network.rank_nodes[0]};
  reached[at(order[0])] = 1;
  for (size_t i = 0; i < order.size(); ++i) {
    for (const int32_t to : next[at(order[i])])
      if (std::exchange(reached[at(to)], 1) == 0) order.push_back(to);
  }
  return std::ranges::all_of(network.rank_nodes, [&](int32_t node) { return reached[at(node)] != 0; });
}

}  // namespace

std::optional<NetworkPart> nearest_nics_only(const Network& network) {
  if (network.link_kinds.size() != network.edges.size()) return std::nullopt;
  std::vector<char> is_end(at(network.nodes));  // ranks, NICs and ports
  for (const int32_t node : network.rank_nodes) is_end[at(node)] = 1;
  for (size_t edge = 0; edge < network.edges.size(); ++edge) {
    const LinkKind kind = network.link_kinds[edge];
    if (kind != LinkKind::inner && kind != LinkKind::cable) continue;
    is_end[at(network.edges[edge].from)] = is_end[at(network.edges[edge].to)] = 1;
  }
  NetworkPart part{network, {}};
  part.network.edges.clear();
  part.network.link_kinds.clear();
  for (size_t edge = 0; edge < network.edges.size(); ++edge) {
    const LinkKind kind = network.link_kinds[edge];
    const bool in_host = kind == LinkKind::pci || kind == LinkKind::cpu;
    if (in_host && is_end[at(network.edges[edge].from)] == 0 && is_end[at(network.edges[edge].to)] == 0)
      continue;
    part.network.edges.push_back(network.edges[edge]);
    part.network.link_kinds.push_back(kind);
    part.edge_of.push_back(static_cast<int32_t>(edge));
  }
  if (part.edge_of.size() == network.edges.size()) return std::nullopt;
  if (!reaches_all(part.network, true) || !reaches_all(part.network, false)) return std::nullopt;
  return part;
}

Result<TreePlan> plan_trees_in(const NetworkPart& part, const Bound& bound, const PackingGoal& goal) {
  auto trees = plan_trees(part.network, bound.collective, bound.root, goal);
  WEIR_TRY(trees.status());
  for (auto* half : {&trees->up, &trees->down}) {
    if (!half->has_value()) continue;
    for (Tree& tree : (*half)->packing.trees)
      for (TreeEdge& hop : tree.edges)
        for (int32_t& edge : hop.route) edge = part.edge_of[at(edge)];
  }
  trees->bound = bound;
  trees->part_of_bound = exactly(bound.time) / trees->time;
  return trees;
}

}  // namespace weir::algorithms
