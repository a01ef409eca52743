// SPDX-License-Identifier: Apache-2.0
/// Whole numbers of trees per edge: how much bandwidth trees can have when so many are packed.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "algorithms/network/network.h"
#include "algorithms/packing/trees.h"
#include "weir/status.h"

namespace weir::algorithms {

/// By edge: how many trees of that bandwidth fit, as far as they can be needed.
std::vector<int64_t> trees_per_edge(const Network& network, const std::vector<int64_t>& shares,
                                    const Rational& bandwidth);

/// Whether trees of that bandwidth, so many per root, can be packed as far as capacities go.
bool fits(const Network& network, const std::vector<int64_t>& shares, const Rational& bandwidth);

/// The most bandwidth up to `limit` that a tree can have when so many are packed per root. It is `limit`, or
/// a whole part of one edge's capacity. Errors: invalid_argument where ranks cannot reach each other.
Result<Rational> best_bandwidth(const Network& network, const std::vector<int64_t>& shares,
                                const Rational& limit);

/// The same for trees of any kind, that together take an edge at most `most_trees` times: `fits(bandwidth)`
/// must hold for all bandwidths below one for which it holds. Errors as above.
Result<Rational> best_bandwidth(const Network& network, int64_t most_trees, const Rational& limit,
                                const std::function<bool(const Rational&)>& fits);

}  // namespace weir::algorithms
