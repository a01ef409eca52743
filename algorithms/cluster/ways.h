// SPDX-License-Identifier: Apache-2.0
/// Paths between the switches to which hosts are attached.
/// Tests: tests/algorithms/free_cluster_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/cluster/cluster_plan.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// The paths of all `pairs` of switches, which must be sorted and different: shortest paths over switches
/// between hosts, each with a weight equal to its narrowest edge's capacity; at most the first 64. Errors:
/// invalid_argument if there is no path.
Result<std::vector<Way>> ways_between(const Network& network, std::span<const char> between_hosts,
                                      std::span<const std::pair<int32_t, int32_t>> pairs);

/// Rounds the weights in proportion, so that their sum is `sum`; paths whose weight would be 0 are left out.
/// REQUIRES: there is a path.
void round_weights(Way& way, int64_t sum);

}  // namespace weir::algorithms
