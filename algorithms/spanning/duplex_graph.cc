// SPDX-License-Identifier: Apache-2.0

#include "algorithms/spanning/duplex_graph.h"

#include <algorithm>

#include "src/base/index.h"

namespace weir::algorithms {

DuplexGraph::DuplexGraph(const Network& network, const std::vector<int64_t>& capacities)
    : network_(&network), opposite_(network.edges.size(), -1), sums_(at(network.nodes)) {
  std::map<Ends, int32_t> edges;
  for (size_t e = 0; e < network.edges.size(); ++e) {
    const Edge& edge = network.edges[e];
    edges.try_emplace({edge.from, edge.to}, static_cast<int32_t>(e));
  }
  for (const auto& [ends, edge] : edges) {
    const auto back = edges.find({ends.second, ends.first});
    if (back == edges.end()) continue;
    opposite_[at(edge)] = back->second;
    const int64_t capacity = std::min(capacities[at(edge)], capacities[at(back->second)]);
    if (ends.first < ends.second && capacity > 0) add(ends.first, ends.second, {{edge}, capacity});
  }
}

int64_t DuplexGraph::capacity(int32_t a, int32_t b) const {
  const auto found = sums_[at(a)].find(b);
  return found == sums_[at(a)].end() ? 0 : found->second;
}

std::vector<int32_t> DuplexGraph::neighbours(int32_t node) const {
  std::vector<int32_t> found;
  for (const auto& [other, amount] : sums_[at(node)]) found.push_back(other);
  return found;
}

int64_t DuplexGraph::degree(int32_t node) const {
  int64_t sum = 0;
  for (const auto& [other, amount] : sums_[at(node)]) sum += amount;
  return sum;
}

void DuplexGraph::change(int32_t a, int32_t b, int64_t amount) {
  for (const auto& [node, other] : {Ends{a, b}, Ends{b, a}}) {
    int64_t& sum = sums_[at(node)][other];
    sum += amount;
    if (sum == 0) sums_[at(node)].erase(other);
  }
}

void DuplexGraph::add(int32_t a, int32_t b, RouteShare piece) {
  if (a > b) {
    std::swap(a, b);
    piece.route = mirrored(piece.route);
  }
  change(a, b, piece.amount);
  add_piece(pieces_[{a, b}], std::move(piece));
}

/// Pieces that lead from a to b.
std::vector<RouteShare> DuplexGraph::remove(int32_t a, int32_t b, int64_t amount) {
  change(a, b, -amount);
  std::vector<RouteShare> removed = take_pieces(pieces_[{std::min(a, b), std::max(a, b)}], amount);
  if (a > b)
    for (RouteShare& piece : removed) piece.route = mirrored(piece.route);
  return removed;
}

void DuplexGraph::join(int32_t a, int32_t middle, int32_t b, int64_t amount) {
  std::vector<RouteShare> heads = remove(a, middle, amount);
  std::vector<RouteShare> tails = remove(middle, b, amount);
  while (!heads.empty()) {
    RouteShare& head = heads.back();
    RouteShare& tail = tails.back();
    const int64_t part = std::min(head.amount, tail.amount);
    add(a, b, {joined(head.route, tail.route), part});
    head.amount -= part;
    tail.amount -= part;
    if (head.amount == 0) heads.pop_back();
    if (tail.amount == 0) tails.pop_back();
  }
}

void DuplexGraph::clear(int32_t node) {
  for (int32_t other : neighbours(node)) remove(node, other, capacity(node, other));
}

std::vector<DuplexLink> DuplexGraph::links() const {
  std::vector<DuplexLink> all;
  for (const auto& [ends, pieces] : pieces_) {
    for (const RouteShare& piece : pieces)
      all.push_back({ends.first, ends.second, piece.amount, piece.route});
  }
  return all;
}

std::vector<int32_t> DuplexGraph::mirrored(const std::vector<int32_t>& route) const {
  std::vector<int32_t> back;
  for (auto edge = route.rbegin(); edge != route.rend(); ++edge) back.push_back(opposite(*edge));
  return back;
}

/// If the walk visits a node twice, the detour is removed: less load, same ends.
std::vector<int32_t> DuplexGraph::joined(const std::vector<int32_t>& head,
                                         const std::vector<int32_t>& tail) const {
  std::vector<int32_t> route = head;
  for (int32_t edge : tail) {
    route.push_back(edge);
    const int32_t end = network_->edges[at(edge)].to;
    const auto met = std::find_if(route.begin(), route.end(),
                                  [&](int32_t earlier) { return network_->edges[at(earlier)].from == end; });
    route.erase(met, route.end());
  }
  return route;
}

}  // namespace weir::algorithms
