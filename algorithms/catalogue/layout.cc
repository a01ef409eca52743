// SPDX-License-Identifier: Apache-2.0

#include "algorithms/catalogue/layout.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "algorithms/catalogue/switch_levels.h"

namespace weir::algorithms {
namespace {

using topology::Graph;
using topology::Index;

/// For each rank the lowest rank of its group on each level, the widest group first, the host last.
using Key = std::vector<Rank>;

/// The keys of all ranks: ranks of one group have keys with the same beginning.
std::vector<Key> keys_of(const Graph& graph, std::span<const Index> hosts) {
  const SwitchLevels fabric(graph);
  std::vector<Switches> at(hosts.size());
  for (size_t rank = 0; rank < hosts.size(); ++rank) at[rank] = {hosts[rank]};
  std::vector<Key> keys(hosts.size());
  for (bool more = true; more;) {  // level by level; a group with nothing above it stays a group of its own
    std::map<Switches, Rank> lowest;
    for (size_t rank = 0; rank < hosts.size(); ++rank)
      keys[rank].push_back(lowest.emplace(at[rank], static_cast<Rank>(rank)).first->second);
    std::map<Switches, Switches> next;
    more = false;
    for (const auto& [switches, rank] : lowest) {
      Switches above = fabric.above(switches);
      more = more || !above.empty();
      next.emplace(switches, above.empty() ? switches : std::move(above));
    }
    for (Switches& own : at) own = next.at(own);
  }
  for (Key& key : keys) std::reverse(key.begin(), key.end());
  return keys;
}

}  // namespace

Layout layout_by_rank(size_t ranks) {
  Layout layout;
  layout.order.resize(ranks);
  std::iota(layout.order.begin(), layout.order.end(), 0);
  return layout;
}

Layout layout_of(const Graph& graph, std::span<const Index> hosts) {
  const std::vector<Key> keys = keys_of(graph, hosts);
  Layout layout = layout_by_rank(hosts.size());
  const auto key_at = [&](size_t place) -> const Key& {
    return keys[static_cast<size_t>(layout.order[place])];
  };
  std::stable_sort(layout.order.begin(), layout.order.end(), [&](Rank a, Rank b) {
    return keys[static_cast<size_t>(a)] < keys[static_cast<size_t>(b)];
  });
  Groups widest;
  for (size_t depth = 1; depth <= (keys.empty() ? 0 : keys[0].size()); ++depth) {
    Groups groups;
    for (size_t place = 0; place < hosts.size(); ++place) {
      const bool first =
          place == 0 || !std::equal(key_at(place).begin(), key_at(place).begin() + static_cast<long>(depth),
                                    key_at(place - 1).begin());
      if (first) groups.push_back(static_cast<int>(place));
    }
    const bool tells = groups.size() > 1 && groups.size() < hosts.size();
    if (tells && (layout.levels.empty() || layout.levels.back() != groups))
      layout.levels.push_back(std::move(groups));
  }
  return layout;
}

}  // namespace weir::algorithms
