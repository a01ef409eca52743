// SPDX-License-Identifier: Apache-2.0

#include "algorithms/bound/groups.h"

#include <algorithm>
#include <functional>
#include <map>

#include "algorithms/network/symmetry.h"
#include "src/base/index.h"
#include "src/base/types.h"
#include "topology/model/unions.h"

namespace weir::algorithms {
namespace {

constexpr size_t kMostWays = 16;  // maximum number of groupings of each kind

/// The connected components of the edges between nodes that are not excluded.
template <typename Joins>
class Components {
 public:
  Components(const Network& network, const std::vector<char>& left_out, Joins joins)
      : groups(at(network.nodes), -1) {
    topology::Unions unions(network.nodes);
    for (const Edge& edge : network.edges) {
      if (left_out[at(edge.from)] == 0 && left_out[at(edge.to)] == 0 && joins(edge))
        unions.join(edge.from, edge.to);
    }
    for (int32_t node = 0; node < network.nodes; ++node) {
      if (left_out[at(node)] != 0) continue;
      const int32_t leader = unions.find(node);  // the smallest node represents its group
      groups[at(node)] = leader == node ? count++ : groups[at(leader)];
    }
  }
  std::vector<int32_t> groups;
  int32_t count = 0;
};

/// The most frequent keys of nodes or edges, which are those inside hosts, and the rarest ones, which are
/// those above them: at most kMostWays of each.
template <typename Key>
std::vector<Key> most_telling(const std::map<Key, int64_t>& counts) {
  std::vector<std::pair<int64_t, Key>> order;
  for (const auto& [key, count] : counts) order.emplace_back(-count, key);
  std::sort(order.begin(), order.end());
  if (order.size() > 2 * kMostWays) order.erase(order.begin() + kMostWays, order.end() - kMostWays);
  std::vector<Key> keys;
  for (const auto& entry : order) keys.push_back(entry.second);
  return keys;
}

}  // namespace

void each_grouping(const Network& network,
                   const std::function<void(std::span<const int32_t> group, int32_t groups)>& visit) {
  std::vector<int32_t> alone(at(network.nodes), -1);
  for (Rank rank = 0; rank < network.ranks(); ++rank) alone[at(network.rank_nodes[at(rank)])] = rank;
  visit(alone, network.ranks());

  const std::vector<int32_t> colours = colours_of(network);
  std::map<int32_t, int64_t> switches;
  for (int32_t node = 0; node < network.nodes; ++node) {
    if (alone[at(node)] < 0) ++switches[colours[at(node)]];
  }
  std::vector<char> left_out(at(network.nodes));
  for (int32_t colour : most_telling(switches)) {
    for (size_t node = 0; node < left_out.size(); ++node) {
      left_out[node] = static_cast<char>(colours[node] == colour && alone[node] < 0);
    }
    const Components parts(network, left_out, [](const Edge&) { return true; });
    visit(parts.groups, parts.count);
  }

  std::map<int64_t, int64_t> widths;
  for (const Edge& edge : network.edges) ++widths[edge.capacity];
  std::fill(left_out.begin(), left_out.end(), 0);
  for (int64_t width : most_telling(widths)) {
    const Components parts(network, left_out, [&](const Edge& edge) { return edge.capacity > width; });
    visit(parts.groups, parts.count);
  }
}

}  // namespace weir::algorithms
