// SPDX-License-Identifier: Apache-2.0

#include "algorithms/rings/ring_capacity.h"

#include <algorithm>
#include <tuple>

namespace weir::algorithms {

RingCapacity::RingCapacity(const Network& network)
    : network_(network),
      leaving_(static_cast<size_t>(network.nodes)),
      rank_at_(static_cast<size_t>(network.nodes), -1),
      capacity_(network.edges.size()),
      visited_(network.rank_nodes.size()) {
  for (size_t e = 0; e < network.edges.size(); ++e)
    leaving_[static_cast<size_t>(network.edges[e].from)].push_back(static_cast<int32_t>(e));
  for (Rank rank = 0; rank < network.ranks(); ++rank)
    rank_at_[static_cast<size_t>(network.rank_nodes[static_cast<size_t>(rank)])] = rank;
  capacity_.assign(network.edges.size(), 1);
  for (Rank rank = 0; rank < network.ranks(); ++rank) find_ways(rank);
}

/// REQUIRES: all edges have capacity left.
void RingCapacity::find_ways(Rank from) {
  ways_.emplace_back(network_.edges.size(), char{1});
  reach(from);
  std::vector<char> leads(static_cast<size_t>(network_.nodes));  // leads to another rank
  std::vector<char> ways(network_.edges.size());
  for (auto node = queue_.rbegin(); node != queue_.rend(); ++node) {
    const auto at = static_cast<size_t>(*node);
    const bool passes = rank_at_[at] < 0 || rank_at_[at] == from;
    leads[at] = passes ? 0 : 1;
    for (const int32_t e : leaving_[at]) {
      const auto to = static_cast<size_t>(network_.edges[static_cast<size_t>(e)].to);
      if (!passes || leads[to] == 0 || hops_[to] != hops_[at] + 1) continue;
      ways[static_cast<size_t>(e)] = leads[at] = 1;
    }
  }
  ways_.back() = std::move(ways);
}

bool RingCapacity::is_used(size_t edge) const {
  return std::ranges::any_of(ways_, [&](const std::vector<char>& ways) { return ways[edge] != 0; });
}

/// Finds the ranks adjacent to a rank, over paths with capacity left on all edges.
void RingCapacity::reach(Rank from) {
  const auto size = static_cast<size_t>(network_.nodes);
  const std::vector<char>& ways = ways_[static_cast<size_t>(from)];
  came_by_.assign(size, -1);
  hops_.assign(size, 0);
  queue_.assign(1, network_.rank_nodes[static_cast<size_t>(from)]);
  for (size_t i = 0; i < queue_.size(); ++i) {
    const auto node = static_cast<size_t>(queue_[i]);
    if (i > 0 && rank_at_[node] >= 0) continue;
    for (const int32_t e : leaving_[node]) {
      if (ways[static_cast<size_t>(e)] == 0) continue;
      const auto to = static_cast<size_t>(network_.edges[static_cast<size_t>(e)].to);
      if (capacity_[static_cast<size_t>(e)] == 0 || came_by_[to] >= 0 || rank_at_[to] == from) continue;
      came_by_[to] = e;
      hops_[to] = hops_[node] + 1;
      queue_.push_back(static_cast<int32_t>(to));
    }
  }
}

/// Takes capacity between two ranks that reach() found to be adjacent.
bool RingCapacity::hop(Rank from, Rank to) {
  reach(from);
  const auto end = network_.rank_nodes[static_cast<size_t>(to)];
  if (came_by_[static_cast<size_t>(end)] < 0) return false;
  const size_t before = edges_.size();
  for (int32_t node = end; rank_at_[static_cast<size_t>(node)] != from;) {
    const int32_t e = came_by_[static_cast<size_t>(node)];
    --capacity_[static_cast<size_t>(e)];
    edges_.push_back(e);
    node = network_.edges[static_cast<size_t>(e)].from;
  }
  std::reverse(edges_.begin() + static_cast<std::ptrdiff_t>(before), edges_.end());
  return true;
}

/// Counts links from a rank to unvisited ranks.
int RingCapacity::exits(Rank rank) const {
  const auto node = static_cast<size_t>(network_.rank_nodes[static_cast<size_t>(rank)]);
  return static_cast<int>(std::ranges::count_if(leaving_[node], [&](int32_t e) {
    const Rank next = rank_at_[static_cast<size_t>(network_.edges[static_cast<size_t>(e)].to)];
    return capacity_[static_cast<size_t>(e)] > 0 && next >= 0 && visited_[static_cast<size_t>(next)] == 0;
  }));
}

/// Unvisited ranks, those with the shortest path last: a ring should not leave a host before it must.
std::vector<RingCapacity::Option> RingCapacity::options_from(Rank rank, std::mt19937& random) {
  reach(rank);
  std::vector<Option> options;
  for (size_t i = 1; i < queue_.size(); ++i) {
    const auto node = static_cast<size_t>(queue_[i]);
    const Rank next = rank_at_[node];
    if (next < 0 || visited_[static_cast<size_t>(next)] != 0) continue;
    options.push_back({next, hops_[node], exits(next), static_cast<uint32_t>(random())});
  }
  std::sort(options.begin(), options.end(), [](const Option& a, const Option& b) {
    return std::tie(a.hops, a.exits, a.lot) > std::tie(b.hops, b.exits, b.lot);
  });
  if (!near_only_ || options.empty()) return options;
  const int least = options.back().hops;
  std::erase_if(options, [&](const Option& option) { return option.hops > least; });
  return options;
}

void RingCapacity::go_back(size_t edges) {
  for (; edges_.size() > edges; edges_.pop_back()) ++capacity_[static_cast<size_t>(edges_.back())];
}

/// Depth-first search over unvisited ranks, until all are visited and the first can be reached again.
bool RingCapacity::search(Rank first, int64_t& steps, std::mt19937& random) {
  const auto visit = [&](Rank rank) {
    visited_[static_cast<size_t>(rank)] = 1;
    --steps;
    path_.push_back({rank, options_from(rank, random), edges_.size()});
  };
  visit(first);
  while (!path_.empty() && steps > 0) {
    Stop& last = path_.back();
    go_back(last.edges_before);
    if (path_.size() == visited_.size() && hop(last.rank, first)) return true;
    if (last.options.empty()) {
      visited_[static_cast<size_t>(last.rank)] = 0;
      path_.pop_back();
      continue;
    }
    const Rank next = last.options.back().rank;
    last.options.pop_back();
    if (hop(last.rank, next)) visit(next);
  }
  return false;
}

std::optional<RoutedRing> RingCapacity::take(Rank first, int64_t& steps, std::mt19937& random) {
  std::fill(visited_.begin(), visited_.end(), char{0});
  edges_.clear();
  path_.clear();
  near_only_ = random() % 4 != 0;
  if (!search(first, steps, random)) {
    go_back(0);
    return std::nullopt;
  }
  RoutedRing ring;
  for (const Stop& stop : path_) ring.order.push_back(stop.rank);
  ring.edges = std::move(edges_);
  return ring;
}

std::optional<RoutedRing> RingCapacity::take_reverse(const RoutedRing& ring) {
  edges_.clear();
  RoutedRing other{{ring.order.rbegin(), ring.order.rend()}, {}};
  for (size_t at = 0; at < other.order.size(); ++at) {
    if (hop(other.order[at], other.order[(at + 1) % other.order.size()])) continue;
    go_back(0);
    return std::nullopt;
  }
  other.edges = std::move(edges_);
  return other;
}

void RingCapacity::give_back(const RoutedRing& ring) {
  for (const int32_t e : ring.edges) ++capacity_[static_cast<size_t>(e)];
}

}  // namespace weir::algorithms
