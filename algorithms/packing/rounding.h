// SPDX-License-Identifier: Apache-2.0
/// Whole numbers of trees per edge: the bandwidth that trees can have for a given number of trees.
/// Tests: tests/algorithms/packing_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "algorithms/network/network.h"
#include "algorithms/packing/trees.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// For each edge the number of trees of that bandwidth that fit, limited to what can be needed.
std::vector<int64_t> trees_per_edge(const Network& network, const std::vector<int64_t>& shares,
                                    const Rational& bandwidth);

/// Whether trees of that bandwidth, with the given number per root, can be packed as far as capacities allow.
bool fits(const Network& network, const std::vector<int64_t>& shares, const Rational& bandwidth);

/// The maximum bandwidth up to `limit` that a tree can have with the given number of trees per root. It is
/// `limit`, or one edge's capacity divided by a whole number. Errors: invalid_argument if ranks cannot reach
/// each other.
Result<Rational> best_bandwidth(const Network& network, const std::vector<int64_t>& shares,
                                const Rational& limit);

/// The same for trees of any kind that together use an edge at most `most_trees` times: if `fits(bandwidth)`
/// holds, it must hold for all smaller bandwidths. Errors as above.
Result<Rational> best_bandwidth(const Network& network, int64_t most_trees, const Rational& limit,
                                const std::function<bool(const Rational&)>& fits);

}  // namespace weir::algorithms
