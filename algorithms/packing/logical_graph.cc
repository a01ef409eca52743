// SPDX-License-Identifier: Apache-2.0

#include "algorithms/packing/logical_graph.h"

#include <algorithm>
#include <utility>

namespace weir::algorithms {

void add_piece(std::vector<RouteShare>& pieces, RouteShare piece) {
  const auto same = std::find_if(pieces.begin(), pieces.end(),
                                 [&](const RouteShare& other) { return other.route == piece.route; });
  if (same != pieces.end()) {
    same->amount += piece.amount;
  } else {
    pieces.push_back(std::move(piece));
  }
}

std::vector<RouteShare> take_pieces(std::vector<RouteShare>& pieces, int64_t amount) {
  std::vector<RouteShare> taken;
  while (amount > 0) {
    RouteShare& last = pieces.back();
    const int64_t part = std::min(amount, last.amount);
    taken.push_back({last.route, part});
    amount -= part;
    last.amount -= part;
    if (last.amount == 0) pieces.pop_back();
  }
  return taken;
}

LogicalGraph::LogicalGraph(const Network& network, const std::vector<int64_t>& capacities)
    : network_(network), out_(static_cast<size_t>(network.nodes)), in_(static_cast<size_t>(network.nodes)) {
  for (size_t e = 0; e < capacities.size(); ++e) {
    if (capacities[e] == 0) continue;
    const Edge& edge = network.edges[e];
    add(edge.from, edge.to, {{static_cast<int32_t>(e)}, capacities[e]});
  }
}

int64_t LogicalGraph::capacity(int from, int to) const {
  const Row& row = out_[static_cast<size_t>(from)];
  const auto found = row.find(to);
  return found == row.end() ? 0 : found->second;
}

std::vector<int> LogicalGraph::neighbours(const std::vector<Row>& rows, int node) {
  std::vector<int> found;
  for (const auto& [other, amount] : rows[static_cast<size_t>(node)]) found.push_back(other);
  return found;
}

int64_t LogicalGraph::sum(const std::vector<Row>& rows, int node) {
  int64_t total = 0;
  for (const auto& [other, amount] : rows[static_cast<size_t>(node)]) total += amount;
  return total;
}

void LogicalGraph::change(int from, int to, int64_t amount) {
  const auto apply = [amount](Row& row, int other) {
    int64_t& value = row[other];
    value += amount;
    if (value == 0) row.erase(other);
  };
  apply(out_[static_cast<size_t>(from)], to);
  apply(in_[static_cast<size_t>(to)], from);
}

void LogicalGraph::add(int from, int to, RouteShare piece) {
  change(from, to, piece.amount);
  add_piece(pieces_[{from, to}], std::move(piece));
}

std::vector<RouteShare> LogicalGraph::remove(int from, int to, int64_t amount) {
  change(from, to, -amount);
  return take_pieces(pieces_[{from, to}], amount);
}

void LogicalGraph::reduce(int from, int to, int64_t amount) { remove(from, to, amount); }

void LogicalGraph::split(int from, int middle, int to, int64_t amount) {
  std::vector<RouteShare> heads = remove(from, middle, amount);
  std::vector<RouteShare> tails = remove(middle, to, amount);
  if (from == to) return;
  while (!heads.empty()) {
    RouteShare& head = heads.back();
    RouteShare& tail = tails.back();
    const int64_t part = std::min(head.amount, tail.amount);
    add(from, to, {joined(head.route, tail.route), part});
    head.amount -= part;
    tail.amount -= part;
    if (head.amount == 0) heads.pop_back();
    if (tail.amount == 0) tails.pop_back();
  }
}

int64_t LogicalGraph::widest(int from, int to) const {
  int64_t most = 0;
  for (const RouteShare& piece : pieces_.at({from, to})) most = std::max(most, piece.amount);
  return most;
}

std::vector<int32_t> LogicalGraph::take(int from, int to, int64_t amount) {
  std::vector<RouteShare>& there = pieces_[{from, to}];
  auto best = there.end();  // the narrowest piece that is wide enough
  for (auto piece = there.begin(); piece != there.end(); ++piece) {
    if (piece->amount >= amount && (best == there.end() || piece->amount < best->amount)) best = piece;
  }
  std::vector<int32_t> route = best->route;
  change(from, to, -amount);
  best->amount -= amount;
  if (best->amount == 0) there.erase(best);
  return route;
}

/// If the walk visits a node twice, the detour is removed: less load, same ends.
std::vector<int32_t> LogicalGraph::joined(const std::vector<int32_t>& head,
                                          const std::vector<int32_t>& tail) const {
  std::vector<int32_t> route;
  const auto append = [&](int32_t number) {
    const int32_t end = network_.edges[static_cast<size_t>(number)].to;
    route.push_back(number);
    const auto met = std::find_if(route.begin(), route.end(), [&](int32_t earlier) {
      return network_.edges[static_cast<size_t>(earlier)].from == end;
    });
    route.erase(met, route.end());
  };
  for (int32_t number : head) append(number);
  for (int32_t number : tail) append(number);
  return route;
}

}  // namespace weir::algorithms
