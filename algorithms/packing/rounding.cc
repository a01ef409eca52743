// SPDX-License-Identifier: Apache-2.0

#include "algorithms/packing/rounding.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "algorithms/packing/balance.h"
#include "algorithms/packing/supply.h"

namespace weir::algorithms {
namespace {

/// More than any edge can need: every tree once into every rank.
int64_t most_trees(const std::vector<int64_t>& shares) {
  return static_cast<int64_t>(shares.size()) * std::accumulate(shares.begin(), shares.end(), int64_t{0});
}

Whole floor(const Rational& value) { return numerator(value) / denominator(value); }

/// All bandwidths in [low, high) of which an edge's capacity is a whole multiple, ascending. At other
/// bandwidths no edge can carry one tree more.
std::vector<Rational> steps_between(const Network& network, int64_t trees, const Rational& low,
                                    const Rational& high) {
  std::set<int64_t> capacities;
  for (const Edge& edge : network.edges) capacities.insert(edge.capacity);
  std::vector<Rational> steps;
  for (int64_t capacity : capacities) {
    const Whole most = std::min<Whole>(floor(capacity / low), trees);
    for (Whole count = floor(capacity / high) + 1; count <= most; ++count)
      steps.emplace_back(Whole(capacity), count);
  }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

}  // namespace

std::vector<int64_t> trees_per_edge(const Network& network, const std::vector<int64_t>& shares,
                                    const Rational& bandwidth) {
  const Whole most = most_trees(shares);
  std::vector<int64_t> counts;
  for (const Edge& edge : network.edges) {
    const Whole count = Whole(edge.capacity) * denominator(bandwidth) / numerator(bandwidth);
    counts.push_back(static_cast<int64_t>(std::min(count, most)));
  }
  return counts;
}

bool fits(const Network& network, const std::vector<int64_t>& shares, const Rational& bandwidth) {
  LogicalGraph graph(network, trees_per_edge(network, shares, bandwidth));
  Supply supply(graph, shares);
  return supply.shortfall() == 0 && balance_switches(graph, supply).ok();
}

Result<Rational> best_bandwidth(const Network& network, const std::vector<int64_t>& shares,
                                const Rational& limit) {
  return best_bandwidth(network, most_trees(shares), limit,
                        [&](const Rational& bandwidth) { return fits(network, shares, bandwidth); });
}

Result<Rational> best_bandwidth(const Network& network, int64_t most_trees, const Rational& limit,
                                const std::function<bool(const Rational&)>& fits) {
  if (fits(limit)) return limit;
  Rational high = limit;
  Rational low = limit / 2;
  int64_t narrowest = INT64_MAX;
  for (const Edge& edge : network.edges) narrowest = std::min(narrowest, edge.capacity);
  while (!fits(low)) {
    // Once every edge carries all trees, only a disconnected network fails.
    if (low * most_trees <= narrowest) {
      return Status(Code::invalid_argument,
                    "a rank cannot be reached by all others: expected a connected network");
    }
    high = low;
    low /= 2;
  }
  const std::vector<Rational> steps = steps_between(network, most_trees, low, high);
  // The first one that does not fit; those before it fit.
  const auto first = std::partition_point(steps.begin(), steps.end(), fits);
  return first == steps.begin() ? low : *(first - 1);
}

}  // namespace weir::algorithms
