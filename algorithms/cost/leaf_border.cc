#include "algorithms/cost/leaf_border.h"

#include <algorithm>
#include <map>
#include <set>

#include "topology/model/derive.h"

namespace weir::cost {

std::optional<Border> leaf_border(const topology::Graph& graph, std::span<const topology::Index> hosts) {
  const std::vector<topology::Leaf> leaves = topology::leaves(graph);
  std::map<topology::Index, std::set<size_t>> leaves_of;  // by host
  for (size_t leaf = 0; leaf < leaves.size(); ++leaf)
    for (const topology::Index host : leaves[leaf].hosts) leaves_of[host].insert(leaf);
  std::map<std::set<size_t>, int> groups;
  Border border;
  for (const topology::Index host : hosts) {
    const auto number = static_cast<int>(groups.size());
    border.group_of.push_back(groups.try_emplace(leaves_of[host], number).first->second);
  }
  if (groups.size() < 2) return std::nullopt;
  double narrowest = 0;
  for (const auto& [own, unused] : groups) {
    double up = 0;
    for (const size_t leaf : own) up += leaves[leaf].up_gb_per_s;
    if (up <= 0) return std::nullopt;
    narrowest = narrowest == 0 ? up : std::min(narrowest, up);
  }
  border.beta = 1 / (narrowest * 1e9);
  return border;
}

}  // namespace weir::cost
