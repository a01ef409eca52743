// SPDX-License-Identifier: Apache-2.0
/// The paths of blocks between hosts: rings in rings.
/// Tests: tests/algorithms/free_cluster_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/cluster/cluster_plan.h"

namespace weir::algorithms {

/// `levels` as in Cluster: nested groups of hosts. Every block visits every host once, and all hosts of a
/// group before it leaves the group for good; so a group is entered once by each foreign block and never by
/// its own blocks, which is the minimum. In its own group a block goes full circle; through other groups it
/// goes from the first to the last child. At each host as many blocks end as the host has itself, so that no
/// host sends more than it receives; if more than half of all blocks come from one of the widest groups, that
/// is impossible, and some hosts send more.
///
/// A few transfers per host and level. REQUIRES: at least two hosts and one block.
std::vector<HostTransfer> nested_rings(std::span<const std::vector<int32_t>> levels,
                                       const std::vector<int64_t>& first_block);

}  // namespace weir::algorithms
