// SPDX-License-Identifier: Apache-2.0
/// The share of the data that ranks should receive as direct parts (cluster/direct_parts.h). Pure and
/// thread-safe.
/// Tests: tests/algorithms/direct_parts_test.cc
#pragma once

#include <cstdint>
#include <span>

#include "algorithms/network/network.h"
#include "algorithms/planner/planner.h"

namespace weir::algorithms {

/// Adds direct parts to a plan without any, if links inside hosts limit and if that makes it faster. The
/// loads are linear in the share, so the best one follows from the plans without and with direct parts only;
/// it is rounded to few parts. The new plan is judged by check_cluster().
void add_direct_parts(const Network& network, std::span<const char> between_hosts,
                      std::span<const int32_t> blocks, JudgedCluster& cluster);

}  // namespace weir::algorithms
