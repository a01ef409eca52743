// SPDX-License-Identifier: Apache-2.0
/// Spanning trees that share no link: divides a graph into a given number of them.
///
/// Roskind and Tarjan ("A note on finding minimum-cost edge-disjoint spanning trees", 1985): links are added
/// one by one; if one closes a cycle in all forests, links are exchanged along a shortest chain of swaps.
///
/// Pure; thread-safe.
/// Tests: tests/algorithms/spanning_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/spanning/duplex_graph.h"
#include "src/base/status.h"
#include "src/base/types.h"

namespace weir::algorithms {

/// Indices in `links`, for each tree. A link is in at most `capacity` of the trees. REQUIRES: links connect
/// ranks; a and b are rank numbers. Errors: invalid_argument if the links allow only fewer trees.
Result<std::vector<std::vector<size_t>>> spanning_trees(int ranks, const std::vector<DuplexLink>& links,
                                                        int trees);

}  // namespace weir::algorithms
