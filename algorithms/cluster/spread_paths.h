// SPDX-License-Identifier: Apache-2.0
/// Paths that together load the links of a network evenly. Ranks on a path forward what passes.
///
/// Every demand begins with a path of the fewest links. Then one after the other gets another path where that
/// makes the busiest links less busy, in a few rounds: the length of a link grows with a high power of the
/// load it would have, as in Raghavan and Thompson's and later multiplicative methods for flows of many
/// kinds.
///
/// Pure, deterministic and thread-safe.
/// Tests: tests/algorithms/exchange_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/network/network.h"

namespace weir::algorithms {

/// An amount of data from one node to another.
struct PathRequest {
  int32_t from = 0;
  int32_t to = 0;
  int64_t amount = 0;
};

/// Paths, and the load of the edges by them and by what they carried before.
struct SpreadPaths {
  std::vector<std::vector<int32_t>> paths;  ///< index: demand; edges; empty if there is no path
  std::vector<int64_t> loads;               ///< index: edge
};

/// `carried`: index: edge; load by other data. No path is changed if no edge takes longer than `enough` (load
/// divided by capacity). `rounds`: at most so many times every demand gets another path.
SpreadPaths spread_paths(const Network& network, std::span<const PathRequest> demands,
                         std::vector<int64_t> carried, double enough, int rounds);

}  // namespace weir::algorithms
