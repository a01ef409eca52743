// SPDX-License-Identifier: Apache-2.0
/// Spanning trees that share no link: how a graph is parted into as many as one asks for.
///
/// Roskind and Tarjan ("A note on finding minimum-cost edge-disjoint spanning trees", 1985): links are added
/// one by one; where one closes a cycle in all forests, links change places along a shortest chain of swaps.
///
/// Pure; thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/spanning/duplex_graph.h"
#include "src/base/types.h"
#include "weir/status.h"

namespace weir::algorithms {

/// Places in `links`, by tree. A link is in at most `capacity` of the trees. REQUIRES: links join ranks, of
/// which a and b are the numbers. Errors: invalid_argument where the links bear fewer trees.
Result<std::vector<std::vector<size_t>>> spanning_trees(int ranks, const std::vector<DuplexLink>& links,
                                                        int trees);

}  // namespace weir::algorithms
