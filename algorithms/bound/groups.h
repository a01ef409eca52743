// SPDX-License-Identifier: Apache-2.0
/// Groups of nodes that people would draw a circle round: single ranks, packages, nodes, what hangs on a
/// leaf.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "algorithms/network/network.h"

namespace weir::algorithms {

/// Calls visit(group of each node or -1, how many groups) for each way to group, a few dozen at most:
///
///   - each rank alone;
///   - what stays together without the switches of one colour (see symmetry.h);
///   - what stays together over links wider than some width.
///
/// They are hints where a narrow cut or partition may be: whoever uses them computes what they are worth.
void each_grouping(const Network& network,
                   const std::function<void(std::span<const int32_t> group, int32_t groups)>& visit);

}  // namespace weir::algorithms
