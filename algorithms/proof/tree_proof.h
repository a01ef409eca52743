// SPDX-License-Identifier: Apache-2.0
/// Judges tree packings and bounds without trusting who made them: nothing here is shared with the code that
/// packs trees or finds bounds, and nothing is computed but sums.
///
/// A packing that passes delivers what each rank owns exactly once to every other rank, over edges that exist
/// and within their capacities. A cut proves that nothing can be faster than cut_bandwidth() says. So
/// bandwidth / cut_bandwidth, an exact fraction of at most 1, says how good a packing is; 1 is optimal.
///
/// Pure and thread-safe; time is linear in what is read.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/packing/trees.h"
#include "weir/status.h"

namespace weir::algorithms {

/// What a right packing puts on the network.
struct TreeLoads {
  std::vector<int64_t> trees;  ///< by edge: how many trees pass, counted with their multiplicities
  int32_t tightest = -1;       ///< the edge that could bear the least more; -1 where no tree has an edge
  Rational use;                ///< share of the tightest edge's capacity that is used: at most 1
};

/// Proves a packing right. Errors: invalid_argument for a network that is none (check()), and with the first
/// thing that is wrong: the tree (counted
/// from 0) and its edge, or the rank, or the edge of the network.
Result<TreeLoads> check_packing(const Network& network, const Packing& packing);

/// Proves two packings right that work at the same time: `reversed_packing`, of the reversed network, sums up
/// what `packing` spreads. So both have as many trees of each root and one bandwidth, and together they stay
/// within the capacities. Errors: as above.
Result<TreeLoads> check_both(const Network& network, const Packing& reversed_packing, const Packing& packing);

/// The most bandwidth a single tree can have, whatever the packing, because all data of the ranks in the cut
/// has to leave it: capacity out of the cut / trees rooted within. `inside[node]`: node is within the cut.
/// Errors: invalid_argument for a cut that proves nothing, as there is no rank outside or no share inside.
Result<Rational> cut_bandwidth(const Network& network, const std::vector<int64_t>& shares,
                               const std::vector<char>& inside);

}  // namespace weir::algorithms
