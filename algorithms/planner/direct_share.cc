// SPDX-License-Identifier: Apache-2.0

#include "algorithms/planner/direct_share.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "algorithms/cluster/direct_parts.h"
#include "src/base/index.h"

namespace weir::algorithms {
namespace {

/// More parts make smaller messages; a plan may take this much longer than the best one.
constexpr int64_t kMostShares = 256;
constexpr double kEnoughShares = 1.0005;

/// The time of an edge as a function of the direct share: linear.
struct EdgeTime {
  double without = 0;
  double only = 0;
};

double time_of(const std::vector<EdgeTime>& edges, double share) {
  double most = 0;
  for (const EdgeTime& edge : edges) most = std::max(most, edge.without * (1 - share) + edge.only * share);
  return most;
}

/// The share with the least time, which is a convex function.
double best_share(const std::vector<EdgeTime>& edges) {
  double low = 0, high = 1;
  for (int step = 0; step < 60; ++step) {
    const double left = low + (high - low) / 3, right = high - (high - low) / 3;
    if (time_of(edges, left) <= time_of(edges, right)) {
      high = right;
    } else {
      low = left;
    }
  }
  return (low + high) / 2;
}

/// The edges that limit for some share; edges of equal hosts count once.
std::vector<EdgeTime> edge_times(const Network& network, const ClusterLoads& without,
                                 const ClusterLoads& only) {
  std::vector<EdgeTime> times;
  for (size_t e = 0; e < network.edges.size(); ++e) {
    const double width = static_cast<double>(network.edges[e].capacity);
    times.push_back({without.share(e).value() / width, only.share(e).value() / width});
  }
  std::ranges::sort(times, {}, [](const EdgeTime& time) { return std::pair(-time.without, -time.only); });
  double most = -1;  // those before take longer for small shares
  std::erase_if(times, [&](const EdgeTime& time) {
    return time.only <= std::exchange(most, std::max(most, time.only));
  });
  return times;
}

}  // namespace

void add_direct_parts(const Network& network, std::span<const char> between_hosts,
                      std::span<const int32_t> blocks, JudgedCluster& cluster) {
  if (cluster.loads.tightest < 0) return;
  const Edge& tightest = network.edges[at(cluster.loads.tightest)];
  if (between_hosts[at(tightest.from)] || between_hosts[at(tightest.to)]) return;
  const auto only = with_direct_parts(cluster.plan, 1, 1);
  if (!only) return;
  const auto loads = check_cluster(network, *only, blocks);
  if (!loads.ok()) return;
  const std::vector<EdgeTime> times = edge_times(network, cluster.loads, *loads);
  const double best = best_share(times);
  const double least = time_of(times, best);
  for (int64_t of = 2; of <= kMostShares; ++of) {
    const auto direct = static_cast<int64_t>(best * static_cast<double>(of) + 0.5);
    const double share = static_cast<double>(direct) / static_cast<double>(of);
    if (of < kMostShares && time_of(times, share) > least * kEnoughShares) continue;
    auto plan = with_direct_parts(cluster.plan, direct, of);
    if (direct == 0 || !plan) return;
    auto judged = check_cluster(network, *plan, blocks);
    if (judged.ok() && judged->time < cluster.loads.time) cluster = {std::move(*plan), std::move(*judged)};
    return;
  }
}

}  // namespace weir::algorithms
