// SPDX-License-Identifier: Apache-2.0
/// Sets of nodes with narrow borders that are no natural groups, such as half of the dies of a host.
/// Tests: tests/algorithms/bound_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "algorithms/network/network.h"

namespace weir::algorithms {

/// Networks of more nodes are not searched: their hosts and leaves are the narrow groups.
inline constexpr int kMostGrownNodes = 128;

/// Grows a set from each node, always by the node that leaves the least capacity across its border for each
/// pair of a rank inside and one outside, and up to 64 nodes also for each pair of nodes; then moves single
/// nodes as long as that helps. Calls visit(inside) for the best set of each start; inside[node] is 0 for its
/// nodes, else -1. The sets are hints: the caller computes their values.
void each_grown_set(const Network& network,
                    const std::function<void(std::span<const int32_t> inside)>& visit);

}  // namespace weir::algorithms
