// SPDX-License-Identifier: Apache-2.0

#include "algorithms/cluster/spread_paths.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "algorithms/cluster/edges_at.h"
#include "src/base/index.h"

namespace weir::algorithms {
namespace {

class Spreader {
 public:
  Spreader(const Network& network, std::vector<int64_t> carried)
      : network_(network),
        leaving_(network, &Edge::from, [](const Edge&) { return true; }),
        loads_(std::move(carried)),
        arrival_(at(network.nodes), -1) {}

  void begin(std::span<const PathRequest> demands) {
    int32_t from = -1;
    for (const PathRequest& demand : demands) {
      if (std::exchange(from, demand.from) != demand.from) fewest_links(demand.from);
      paths_.push_back(path_to(demand));
      carry(paths_.back(), demand.amount);
    }
  }

  double busiest() const {
    double most = 0;
    for (size_t e = 0; e < loads_.size(); ++e) most = std::max(most, time_of(e, 0));
    return most;
  }

  void improve(std::span<const PathRequest> demands) {
    const double most = busiest();
    for (size_t d = 0; d < demands.size(); ++d) {
      if (paths_[d].empty()) continue;
      carry(paths_[d], -demands[d].amount);
      shortest(demands[d], most);
      paths_[d] = path_to(demands[d]);
      carry(paths_[d], demands[d].amount);
    }
  }

  SpreadPaths now() const { return {paths_, loads_}; }

 private:
  double time_of(size_t edge, int64_t more) const {
    return static_cast<double>(loads_[edge] + more) / static_cast<double>(network_.edges[edge].capacity);
  }

  void carry(const std::vector<int32_t>& path, int64_t amount) {
    for (const int32_t edge : path) loads_[at(edge)] += amount;
  }

  /// Of paths with equally few links the widest.
  void fewest_links(int32_t from) {
    std::ranges::fill(arrival_, -1);
    std::vector<int64_t> width(arrival_.size());
    std::vector<int32_t> hops(arrival_.size(), -1);
    std::vector<int32_t> order = {from};
    width[at(from)] = INT64_MAX;
    hops[at(from)] = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      for (const int32_t edge : leaving_.of(order[i])) {
        const int32_t next = network_.edges[at(edge)].to;
        const int64_t wide = std::min(width[at(order[i])], network_.edges[at(edge)].capacity);
        if (hops[at(next)] < 0) {
          hops[at(next)] = hops[at(order[i])] + 1;
          order.push_back(next);
        }
        if (hops[at(next)] != hops[at(order[i])] + 1 || wide <= width[at(next)]) continue;
        width[at(next)] = wide;
        arrival_[at(next)] = edge;
      }
    }
  }

  /// The eighth power of the load an edge would have; every link has some length.
  double length(size_t edge, int64_t amount, double most) const {
    const double load = time_of(edge, amount) / most;
    const double square = load * load, fourth = square * square;
    return fourth * fourth + 1e-6;
  }

  void shortest(const PathRequest& demand, double most) {
    std::ranges::fill(arrival_, -1);
    std::vector<double> distance(arrival_.size(), std::numeric_limits<double>::infinity());
    std::priority_queue<std::pair<double, int32_t>, std::vector<std::pair<double, int32_t>>, std::greater<>>
        queue;
    distance[at(demand.from)] = 0;
    queue.emplace(0, demand.from);
    while (!queue.empty() && queue.top().second != demand.to) {
      const auto [reached, node] = queue.top();
      queue.pop();
      if (reached > distance[at(node)]) continue;
      for (const int32_t edge : leaving_.of(node)) {
        const int32_t next = network_.edges[at(edge)].to;
        const double beyond = reached + length(at(edge), demand.amount, most);
        if (beyond >= distance[at(next)]) continue;
        distance[at(next)] = beyond;
        arrival_[at(next)] = edge;
        queue.emplace(beyond, next);
      }
    }
  }

  std::vector<int32_t> path_to(const PathRequest& demand) const {
    std::vector<int32_t> path;
    for (int32_t node = demand.to; node != demand.from; node = network_.edges[at(path.back())].from) {
      if (arrival_[at(node)] < 0) return {};
      path.push_back(arrival_[at(node)]);
    }
    std::ranges::reverse(path);
    return path;
  }

  const Network& network_;
  const EdgesAt leaving_;
  std::vector<int64_t> loads_;    // index: edge
  std::vector<int32_t> arrival_;  // index: node; the last edge of the last search's path; -1: none
  std::vector<std::vector<int32_t>> paths_;
};

}  // namespace

SpreadPaths spread_paths(const Network& network, std::span<const PathRequest> demands,
                         std::vector<int64_t> carried, double enough, int rounds) {
  Spreader spreader(network, std::move(carried));
  spreader.begin(demands);
  SpreadPaths best = spreader.now();
  double least = spreader.busiest();
  for (int round = 0; round < rounds && least > enough; ++round) {
    spreader.improve(demands);
    if (spreader.busiest() >= least) continue;
    least = spreader.busiest();
    best = spreader.now();
  }
  return best;
}

}  // namespace weir::algorithms
