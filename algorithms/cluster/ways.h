// SPDX-License-Identifier: Apache-2.0
/// Paths between the switches that hosts are attached to.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/cluster/cluster_plan.h"
#include "weir/status.h"

namespace weir::algorithms {

/// The ways of all `pairs` of switches, which are sorted and differ each: shortest paths over switches
/// between hosts, each with as much weight as the narrowest of its edges has capacity; the first 64 where
/// there are more. Errors: invalid_argument where there is no path.
Result<std::vector<Way>> ways_between(const Network& network, std::span<const char> between_hosts,
                                      std::span<const std::pair<int32_t, int32_t>> pairs);

}  // namespace weir::algorithms
