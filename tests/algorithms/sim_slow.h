// SPDX-License-Identifier: Apache-2.0
/// The simulator's model once more, from its definitions and as slowly as they read: to check the quick one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "algorithms/network/network.h"

namespace weir::sim {

struct SlowFlow {
  std::vector<int32_t> path;
  double ceiling = 0;  ///< units of capacity
  double bytes = 0;
  double alpha = 0;
  std::vector<size_t> after;  ///< flows that must have ended
};

/// Progressive filling: raises everybody who can still rise by the largest step that breaks nothing, flow by
/// flow and edge by edge.
inline std::vector<double> fill_slowly(const algorithms::Network& network,
                                       const std::vector<SlowFlow>& flows) {
  std::vector<double> rates(flows.size(), 0);
  std::vector<bool> stopped(flows.size(), false);
  for (;;) {
    std::vector<double> left;
    std::vector<int> rising(network.edges.size(), 0);
    for (const auto& edge : network.edges) left.push_back(static_cast<double>(edge.capacity));
    double step = -1;
    const auto at_most = [&](double limit) { step = step < 0 || limit < step ? limit : step; };
    for (size_t f = 0; f < flows.size(); ++f) {
      for (const int32_t e : flows[f].path) left[static_cast<size_t>(e)] -= rates[f];
      if (stopped[f]) continue;
      for (const int32_t e : flows[f].path) ++rising[static_cast<size_t>(e)];
      at_most(flows[f].ceiling - rates[f]);
    }
    if (step < 0) return rates;
    for (size_t e = 0; e < left.size(); ++e) {
      if (rising[e] > 0) at_most(left[e] / rising[e]);
    }
    for (size_t f = 0; f < flows.size(); ++f) {
      if (stopped[f]) continue;
      rates[f] += step;
      stopped[f] = flows[f].ceiling - rates[f] <= 1e-9 * flows[f].ceiling;
      for (const int32_t e : flows[f].path) {
        const auto place = static_cast<size_t>(e);
        const double after = left[place] - step * rising[place];
        if (after <= 1e-9 * static_cast<double>(network.edges[place].capacity)) stopped[f] = true;
      }
    }
  }
}

/// When each flow has ended: from event to event, all rates anew each time. Without latencies.
inline std::vector<double> simulate_slowly(const algorithms::Network& network, std::vector<SlowFlow> flows) {
  constexpr double kNever = 1e300;
  const double bytes_per_unit = algorithms::kCapacityUnit * 1e9;
  std::vector<double> ended(flows.size(), -1);
  for (double now = 0;;) {
    std::vector<SlowFlow> active;
    std::vector<size_t> who;
    double next = kNever;
    for (size_t f = 0; f < flows.size(); ++f) {
      if (ended[f] >= 0) continue;
      double begin = flows[f].alpha;
      for (const size_t a : flows[f].after) {
        begin = std::max(begin, ended[a] < 0 ? kNever : ended[a] + flows[f].alpha);
      }
      if (begin <= now * (1 + 1e-12)) {
        active.push_back(flows[f]);
        who.push_back(f);
      } else {
        next = std::min(next, begin);
      }
    }
    if (active.empty() && next >= kNever) return ended;
    const std::vector<double> rates = fill_slowly(network, active);
    for (size_t i = 0; i < who.size(); ++i) {
      next = std::min(next, now + active[i].bytes / (rates[i] * bytes_per_unit));
    }
    for (size_t i = 0; i < who.size(); ++i) {
      double& left = flows[who[i]].bytes;
      left -= rates[i] * bytes_per_unit * (next - now);
      if (left <= 1e-9 * rates[i] * bytes_per_unit * next) ended[who[i]] = next;
    }
    now = next;
  }
}

}  // namespace weir::sim
