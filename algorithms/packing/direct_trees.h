// SPDX-License-Identifier: Apache-2.0
/// Trees of one hop: every root sends to every other rank over the shortest path. Where each rank has an
/// equal link to one switch, or to each other rank, nothing is faster, however many ranks there are.
///
/// Pure and thread-safe. Time: the number of roots times the size of the network.
/// Tests: tests/algorithms/packing_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "algorithms/network/network.h"
#include "algorithms/packing/trees.h"

namespace weir::algorithms {

/// `weights[rank]` trees of the bandwidth `bound` for each rank, or none if these trees do not fit into the
/// network. REQUIRES: as many weights as ranks; none is negative.
std::optional<Packing> direct_trees(const Network& network, const std::vector<int64_t>& weights,
                                    const Rational& bound);

}  // namespace weir::algorithms
