// SPDX-License-Identifier: Apache-2.0
/// What a cut proves: that no packing of trees is faster than its bandwidth. A packing that reaches it is
/// optimal.
///
/// Pure and thread-safe. Shared with neither the code that packs trees nor the one that finds bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithms/network/network.h"
#include "algorithms/packing/rational.h"
#include "algorithms/proof/wrong.h"

namespace weir::algorithms {

/// The most bandwidth a single tree can have, whatever the packing, because all data of the ranks in the cut
/// has to leave it: capacity out of the cut / trees rooted within. `inside[node]`: node is within the cut.
/// Errors: invalid_argument for a cut that proves nothing, as there is no rank outside or no share inside.
inline Result<Rational> cut_bandwidth(const Network& network, const std::vector<int64_t>& shares,
                                      const std::vector<char>& inside) {
  WEIR_TRY(check(network));
  if (inside.size() != static_cast<size_t>(network.nodes)) {
    return wrong("a cut of {} nodes: the network has {}", inside.size(), network.nodes);
  }
  if (shares.size() != network.rank_nodes.size()) {
    return wrong("shares of {} ranks: the network has {}", shares.size(), network.rank_nodes.size());
  }
  const auto within = [&](int32_t node) { return inside[static_cast<size_t>(node)] != 0; };
  Whole share = 0;
  bool outside = false;
  for (size_t r = 0; r < shares.size(); ++r) {
    if (within(network.rank_nodes[r])) {
      share += shares[r];
    } else {
      outside = true;
    }
  }
  if (!outside) return wrong("a cut with all ranks inside: expected one outside");
  if (share <= 0) return wrong("a cut with no share inside: expected a rank that is the root of trees");
  Whole leaving = 0;
  for (const Edge& edge : network.edges) {
    if (within(edge.from) && !within(edge.to)) leaving += edge.capacity;
  }
  return Rational(leaving, share);
}

}  // namespace weir::algorithms
