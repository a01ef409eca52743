// SPDX-License-Identifier: Apache-2.0
/// The way of blocks from host to host: rings in rings.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/cluster/cluster_plan.h"

namespace weir::algorithms {

/// `levels` as in Cluster: groups within groups of hosts. Every block visits every host once, and all hosts
/// of a group before it leaves it for good; so a group is entered once by each foreign block and never by its
/// own, which is the least there can be. In the group that it comes from a block goes full circle; through
/// others from the first to the last child. It ends at a host where as many blocks end as that host has
/// itself, so that no host has to send more than it receives; where more than half of all blocks come from
/// one of the widest groups that cannot be, and some hosts send more.
///
/// A few transfers per host and level. REQUIRES: two hosts, a block.
std::vector<Transfer> nested_rings(std::span<const std::vector<int32_t>> levels,
                                   const std::vector<int64_t>& first_block);

}  // namespace weir::algorithms
