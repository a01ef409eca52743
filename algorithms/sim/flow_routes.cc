// SPDX-License-Identifier: Apache-2.0

#include "algorithms/sim/flow_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "src/base/index.h"

namespace weir::sim {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

using ir::MoveWay;

constexpr char bit(MoveWay way) { return static_cast<char>(1 << static_cast<int>(way)); }

/// The ways that may use a link.
char ways_over(topology::LinkKind kind) {
  using topology::LinkKind;
  switch (kind) {
    case LinkKind::nvlink: return bit(MoveWay::any) | bit(MoveWay::nvlink) | bit(MoveWay::net);
    case LinkKind::xgmi: return bit(MoveWay::any) | bit(MoveWay::xgmi) | bit(MoveWay::net);
    case LinkKind::cable: return bit(MoveWay::any) | bit(MoveWay::net);
    // The dies of a package are joined by links of this kind.
    case LinkKind::inner: return static_cast<char>((1 << ir::kMoveWays) - 1);
    default: return bit(MoveWay::any) | bit(MoveWay::pcie) | bit(MoveWay::net);
  }
}

}  // namespace

FlowRoutes::FlowRoutes(const Network& network)
    : network_(network), is_rank_(at(network.nodes)), uses_(network.edges.size()) {
  for (const int32_t node : network.rank_nodes) is_rank_[at(node)] = 1;
  find_ways();
  index(true);
  index(false);
  find_hosts();
}

void FlowRoutes::find_ways() {
  const bool tells = network_.link_kinds.size() == network_.edges.size();
  allows_.assign(network_.edges.size(), bit(MoveWay::any));
  for (size_t edge = 0; tells && edge < allows_.size(); ++edge)
    allows_[edge] = ways_over(network_.link_kinds[edge]);
}

void FlowRoutes::find_hosts() {
  if (network_.link_kinds.size() != network_.edges.size()) return;
  host_of_.assign(at(network_.nodes), -1);
  std::vector<int32_t> open;
  for (int32_t first = 0; first < network_.nodes; ++first) {
    if (host_of_[at(first)] >= 0) continue;
    host_of_[at(first)] = first;
    open = {first};
    while (!open.empty()) {
      const int32_t node = open.back();
      open.pop_back();
      for (const bool forward : {true, false}) {
        const Side& s = side(forward);
        for (uint32_t place = s.first_edge[at(node)]; place < s.first_edge[at(node) + 1]; ++place) {
          const int32_t next = head(s.edges[place], forward);
          if (is_cable(s.edges[place]) || host_of_[at(next)] >= 0) continue;
          host_of_[at(next)] = first;
          open.push_back(next);
        }
      }
    }
  }
}

MoveWay FlowRoutes::way_of(std::span<const int32_t> route) const {
  if (network_.link_kinds.size() != network_.edges.size()) return MoveWay::any;
  if (std::ranges::any_of(route, [&](int32_t edge) { return is_cable(edge); })) return MoveWay::net;
  for (const MoveWay way : {MoveWay::nvlink, MoveWay::xgmi, MoveWay::pcie})
    if (std::ranges::all_of(route, [&](int32_t edge) { return (allows_[at(edge)] & bit(way)) != 0; }))
      return way;
  return MoveWay::any;
}

bool FlowRoutes::needs_forwarding(std::span<const int32_t> route) const {
  if (way_of(route) != MoveWay::net) return false;
  return std::ranges::any_of(route.first(route.size() - 1),
                             [&](int32_t edge) { return is_rank_[at(network_.edges[at(edge)].to)] != 0; });
}

/// REQUIRES: the network tells the kinds of its links.
bool FlowRoutes::is_cable(int32_t edge) const {
  return network_.link_kinds[at(edge)] == topology::LinkKind::cable;
}

int32_t FlowRoutes::head(int32_t edge, bool forward) const {
  return forward ? network_.edges[at(edge)].to : network_.edges[at(edge)].from;
}

void FlowRoutes::index(bool forward) {
  Side& s = side(forward);
  const auto nodes = at(network_.nodes);
  const auto edges = static_cast<int32_t>(network_.edges.size());
  s.first_edge.resize(nodes + 1);
  for (int32_t e = 0; e < edges; ++e) ++s.first_edge[at(tail(e, forward)) + 1];
  for (size_t n = 0; n < nodes; ++n) s.first_edge[n + 1] += s.first_edge[n];
  std::vector<uint32_t> place(s.first_edge.begin(), s.first_edge.end() - 1);
  s.edges.resize(network_.edges.size());
  for (int32_t e = 0; e < edges; ++e) s.edges[place[at(tail(e, forward))]++] = e;
  s.seen.resize(nodes);
  s.depth.resize(nodes);
  s.best.resize(nodes);
  s.step.resize(nodes);
}

Result<std::span<const int32_t>> FlowRoutes::route(Rank src, Rank dst, uint32_t channel, MoveWay way) {
  if (std::min(src, dst) < 0 || std::max(src, dst) >= network_.ranks()) {
    return Status(Code::invalid_argument,
                  fmt::format("no route from rank {} to rank {}: expected ranks 0 to {}", src, dst,
                              network_.ranks() - 1));
  }
  if (src == dst) {
    return Status(Code::invalid_argument,
                  fmt::format("no route from rank {} to itself: expected two different ranks", src));
  }
  const uint64_t key = static_cast<uint64_t>(src) << 40 | static_cast<uint64_t>(dst) << 16 | channel |
                       static_cast<uint64_t>(way) << 61;
  const auto [entry, fresh] = known_.try_emplace(key, edges_.size(), edges_.size());
  auto& [first, end] = entry->second;
  if (fresh) {
    way_ = way;
    const int32_t from = network_.rank_nodes[at(src)], to = network_.rank_nodes[at(dst)];
    if (!find(from, to)) {
      known_.erase(entry);
      return Status(Code::invalid_argument,
                    fmt::format("no path leads from rank {} to rank {}{}", src, dst,
                                way == MoveWay::any ? "" : fmt::format(" by {}", name(way))));
    }
    widest(true, from);
    widest(false, to);
    double width = 0;
    for (const int32_t node : meetings_) {
      width = std::max(width, std::min(ahead_.best[at(node)], behind_.best[at(node)]));
    }
    least_used(true, from, width);
    least_used(false, to, width);
    const auto uses = [&](int32_t node) { return ahead_.best[at(node)] + behind_.best[at(node)]; };
    trace(*std::ranges::min_element(meetings_, {}, uses), from, to);
    end = edges_.size();
    if (way == MoveWay::net && way_of(std::span<const int32_t>(edges_.data() + first, end - first)) != way) {
      known_.erase(entry);
      return Status(Code::invalid_argument,
                    fmt::format("the path from rank {} to rank {} has no network cable", src, dst));
    }
  }
  return std::span<const int32_t>(edges_.data() + first, end - first);
}

bool FlowRoutes::find(int32_t from, int32_t to) {
  if (way_ == MoveWay::any && !host_of_.empty() && host_of_[at(from)] == host_of_[at(to)]) {
    over_cables_ = false;
    const bool found = search(from, to, false) || search(from, to, true);
    over_cables_ = true;
    if (found) return true;
  }
  return search(from, to, false) || search(from, to, true);
}

/// Breadth-first from both ends, always on the side with fewer edges to examine, until the two meet: all
/// shortest paths lead through meetings_, along the steps of both sides. False: there is no path.
bool FlowRoutes::search(int32_t from, int32_t to, bool through_ranks) {
  ++search_;
  meetings_.clear();
  for (const bool forward : {true, false}) {
    Side& s = side(forward);
    const int32_t start = forward ? from : to;
    s.border = {start};
    s.steps.clear();
    s.seen[at(start)] = search_;
    s.depth[at(start)] = 0;
  }
  while (meetings_.empty() && !ahead_.border.empty() && !behind_.border.empty()) {
    const bool forward = cost_of_border(ahead_) <= cost_of_border(behind_);
    expand(forward, forward ? to : from, through_ranks);
  }
  return !meetings_.empty();
}

size_t FlowRoutes::cost_of_border(const Side& side) const {
  size_t edges = 0;
  for (const int32_t node : side.border) edges += side.first_edge[at(node) + 1] - side.first_edge[at(node)];
  return edges;
}

void FlowRoutes::expand(bool forward, int32_t goal, bool through_ranks) {
  Side& s = side(forward);
  const Side& other = side(!forward);
  const int32_t depth = s.depth[at(s.border.front())] + 1;
  std::vector<int32_t> border;
  for (const int32_t node : s.border) {
    for (uint32_t place = s.first_edge[at(node)]; place < s.first_edge[at(node) + 1]; ++place) {
      if ((allows_[at(s.edges[place])] & bit(way_)) == 0) continue;
      if (!over_cables_ && is_cable(s.edges[place])) continue;
      const int32_t next = head(s.edges[place], forward);
      if (is_rank_[at(next)] && next != goal && !through_ranks) continue;
      if (s.seen[at(next)] != search_) {
        s.seen[at(next)] = search_;
        s.depth[at(next)] = depth;
        border.push_back(next);
        if (other.seen[at(next)] == search_) meetings_.push_back(next);
      }
      if (s.depth[at(next)] == depth) s.steps.push_back(s.edges[place]);
    }
  }
  s.border = std::move(border);
}

/// best: the maximum width of a path from the start to a node.
void FlowRoutes::widest(bool forward, int32_t start) {
  Side& s = side(forward);
  for (const int32_t edge : s.steps) s.best[at(head(edge, forward))] = 0;
  s.best[at(start)] = kInfinite;
  for (const int32_t edge : s.steps) {
    const auto capacity = static_cast<double>(network_.edges[at(edge)].capacity);
    double& best = s.best[at(head(edge, forward))];
    best = std::max(best, std::min(s.best[at(tail(edge, forward))], capacity));
  }
}

/// best: the least sum of uses on a path of that width from the start to a node.
void FlowRoutes::least_used(bool forward, int32_t start, double width) {
  Side& s = side(forward);
  for (const int32_t edge : s.steps) s.best[at(head(edge, forward))] = kInfinite;
  s.best[at(start)] = 0;
  for (const int32_t edge : s.steps) {
    if (static_cast<double>(network_.edges[at(edge)].capacity) < width) continue;
    const double sum = s.best[at(tail(edge, forward))] + uses_[at(edge)];
    const int32_t node = head(edge, forward);
    if (sum >= s.best[at(node)]) continue;
    s.best[at(node)] = sum;
    s.step[at(node)] = edge;
  }
}

void FlowRoutes::trace(int32_t meeting, int32_t from, int32_t to) {
  const auto first = static_cast<std::ptrdiff_t>(edges_.size());
  for (int32_t node = meeting; node != from; node = tail(edges_.back(), true)) {
    edges_.push_back(ahead_.step[at(node)]);
  }
  std::reverse(edges_.begin() + first, edges_.end());
  for (int32_t node = meeting; node != to; node = head(edges_.back(), true)) {
    edges_.push_back(behind_.step[at(node)]);
  }
  for (auto edge = edges_.begin() + first; edge != edges_.end(); ++edge) {
    uses_[at(*edge)] += 1.0 / static_cast<double>(network_.edges[at(*edge)].capacity);
  }
}

}  // namespace weir::sim
