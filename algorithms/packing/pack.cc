// SPDX-License-Identifier: Apache-2.0

#include "algorithms/packing/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "algorithms/packing/arborescences.h"
#include "algorithms/packing/direct_trees.h"
#include "algorithms/packing/logical_graph.h"
#include "algorithms/packing/rounding.h"
#include "algorithms/packing/switch_removal.h"

namespace weir::algorithms {
namespace {

/// Upper limit for the sums over all edges of all trees, which the flows use.
constexpr int64_t kMostCounted = INT64_MAX / 4;

Status wrong(std::string sentence) { return {Code::invalid_argument, std::move(sentence)}; }

Status check_demand(const Network& network, const std::vector<int64_t>& weights, const Rational& bound,
                    int most_trees) {
  WEIR_TRY(check(network));
  if (weights.size() != network.rank_nodes.size()) {
    return wrong(fmt::format("weights of {} ranks: the network has {}", weights.size(), network.ranks()));
  }
  Whole total = 0;
  for (size_t r = 0; r < weights.size(); ++r) {
    if (weights[r] < 0)
      return wrong(fmt::format("rank {} has weight {}: expected at least 0", r, weights[r]));
    total += weights[r];
  }
  if (total == 0) return wrong("no rank has a weight: expected a root");
  const Whole counted = total * most_trees * network.ranks() * (network.edges.size() + 1);
  if (counted > kMostCounted) {
    return wrong(fmt::format("{} trees over {} ranks and {} edges: too many to count",
                             Whole(total * most_trees).str(), network.ranks(), network.edges.size()));
  }
  if (bound <= 0) return wrong(fmt::format("a bound of {}: expected more than 0", bound.str()));
  return {};
}

std::vector<int64_t> shares_of(const std::vector<int64_t>& weights, int trees) {
  std::vector<int64_t> shares = weights;
  for (int64_t& share : shares) share *= trees;
  return shares;
}

/// Packs trees with a bandwidth that fits.
Result<Packed> build(const Network& network, std::vector<int64_t> shares, const Rational& bandwidth,
                     const Rational& bound, int trees_per_root) {
  LogicalGraph graph(network, trees_per_edge(network, shares, bandwidth));
  WEIR_TRY(remove_switches(graph, shares));
  auto trees = pack_trees(graph, shares);
  WEIR_TRY(trees.status());
  return Packed{
      {std::move(shares), bandwidth, std::move(*trees)}, trees_per_root, bandwidth * trees_per_root / bound};
}

}  // namespace

Result<Packed> pack_few(const Network& network, const std::vector<int64_t>& weights, const Rational& bound,
                        int trees_per_root) {
  if (trees_per_root < 1) return wrong(fmt::format("{} trees per root: expected at least 1", trees_per_root));
  WEIR_TRY(check_demand(network, weights, bound, trees_per_root));
  if (trees_per_root == 1) {
    if (auto direct = direct_trees(network, weights, bound)) return Packed{std::move(*direct), 1, 1};
  }
  std::vector<int64_t> shares = shares_of(weights, trees_per_root);
  auto bandwidth = best_bandwidth(network, shares, bound / trees_per_root);
  WEIR_TRY(bandwidth.status());
  return build(network, std::move(shares), *bandwidth, bound, trees_per_root);
}

Result<Packed> pack(const Network& network, const std::vector<int64_t>& weights, const Rational& bound,
                    const PackingGoal& goal) {
  const int most = std::max(goal.most_trees, 1);
  WEIR_TRY(check_demand(network, weights, bound, most));
  if (auto direct = direct_trees(network, weights, bound)) return Packed{std::move(*direct), 1, 1};
  for (int k = 1; k <= std::min(goal.optimal_trees, most); ++k) {
    if (fits(network, shares_of(weights, k), bound / k)) {
      return build(network, shares_of(weights, k), bound / k, bound, k);
    }
  }
  int best_k = 1;
  Rational best = 0;  // bandwidth per weight
  for (int k = 1; k <= most && best < goal.enough * bound; ++k) {
    auto bandwidth = best_bandwidth(network, shares_of(weights, k), bound / k);
    WEIR_TRY(bandwidth.status());
    if (*bandwidth * k <= best) continue;
    best = *bandwidth * k;
    best_k = k;
  }
  return build(network, shares_of(weights, best_k), best / best_k, bound, best_k);
}

}  // namespace weir::algorithms
