/// Whole numbers of trees per edge: how much bandwidth trees can have when so many are packed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "algorithms/net/network.h"
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

}  // namespace weir::algorithms
