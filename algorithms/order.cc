#include "algorithms/order.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "topology/model/derive.h"

namespace weir::algorithms {
namespace {

using topology::FabricSwitchFacts;
using topology::Graph;
using topology::Index;
using topology::kNone;

using Switches = std::set<Index>;

/// What hosts are attached to, and what switches are cabled to above them.
class Upwards {
 public:
  explicit Upwards(const Graph& graph) : graph_(graph) {
    const std::vector<Index> hosts = topology::hosts_of(graph);
    for (const topology::Link& link : graph.links()) {
      const auto* above = graph.get<FabricSwitchFacts>(link.to);
      if (above == nullptr) continue;
      const auto* below = graph.get<FabricSwitchFacts>(link.from);
      const Index from = below != nullptr ? link.from : hosts[static_cast<size_t>(link.from)];
      if (from != kNone && (below == nullptr || below->level < above->level)) up_[from].insert(link.to);
    }
  }

  /// The switches that are reached by going up once from any of `below`.
  Switches above(const Switches& below) const {
    Switches found;
    for (const Index node : below) {
      if (const auto up = up_.find(node); up != up_.end()) found.insert(up->second.begin(), up->second.end());
    }
    return found;
  }

 private:
  const Graph& graph_;
  std::map<Index, Switches> up_;
};

/// By rank: the lowest rank of its group on each level, the widest group first, the host last.
using Key = std::vector<Rank>;

}  // namespace

std::vector<Rank> near_order(const Graph& graph, std::span<const Index> hosts) {
  const Upwards upwards(graph);
  std::vector<Switches> at(hosts.size());
  for (size_t rank = 0; rank < hosts.size(); ++rank) at[rank] = {hosts[rank]};
  std::vector<Key> keys(hosts.size());
  for (bool more = true; more;) {  // one level after the other; who has nothing above stays a group by itself
    std::map<Switches, Rank> lowest;
    for (size_t rank = 0; rank < hosts.size(); ++rank)
      keys[rank].push_back(lowest.emplace(at[rank], static_cast<Rank>(rank)).first->second);
    std::map<Switches, Switches> next;
    more = false;
    for (const auto& [switches, rank] : lowest) {
      Switches above = upwards.above(switches);
      more = more || !above.empty();
      next.emplace(switches, above.empty() ? switches : std::move(above));
    }
    for (Switches& own : at) own = next.at(own);
  }
  for (Key& key : keys) std::reverse(key.begin(), key.end());
  std::vector<Rank> order(hosts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](Rank a, Rank b) {
    return keys[static_cast<size_t>(a)] < keys[static_cast<size_t>(b)];
  });
  return order;
}

}  // namespace weir::algorithms
