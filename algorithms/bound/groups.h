// SPDX-License-Identifier: Apache-2.0
/// Natural groups of nodes: single ranks, packages, hosts, the ranks below a leaf.
/// Tests: tests/algorithms/bound_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "algorithms/network/network.h"

namespace weir::algorithms {

/// Calls visit(group of each node or -1, number of groups) for each grouping, a few dozen at most:
///
///   - each rank alone;
///   - nodes that stay connected without the switches of one colour (see symmetry.h);
///   - nodes that stay connected over links wider than some width.
///
/// They are hints for narrow cuts and partitions: the caller computes their values.
void each_grouping(const Network& network,
                   const std::function<void(std::span<const int32_t> group, int32_t groups)>& visit);

}  // namespace weir::algorithms
