// SPDX-License-Identifier: Apache-2.0
/// Trees over hosts in which each has a given number of neighbours on the average.
///
/// A tree with n hosts has degrees that are 1 or more and add up to 2 (n - 1), and whatever has such a sum
/// are the degrees of a tree; as in Pruefer's code (1918), each host is met once less than it has neighbours,
/// and all together n - 2 times. Here the hosts lie side by side on a line, each as long as it is to be met,
/// and tree x meets those on which the points x, x + 1 and so on lie (systematic sampling). Hosts that are
/// met are joined in a chain, and the others are leaves beside it: a caterpillar. Groups likewise are links
/// of a chain or leaves beside it, with chains of their own inside. Leaves are attached in their own group as
/// far as there are places; so a group's border is crossed no more often than the degrees of its hosts
/// demand.
///
/// From one tree to the next points move on, and each that comes to another host changes a few edges. So the
/// transfers are few, whatever the number of trees.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/cluster/cluster_plan.h"
#include "algorithms/cluster/degrees.h"
#include "algorithms/cluster/host_groups.h"

namespace weir::algorithms {

struct HostTrees {
  std::vector<int64_t> first_block;  ///< by host, and how many there are: blocks whose tree it is the root of
  std::vector<Transfer> transfers;   ///< away from roots
};

/// A tree for each block. A few transfers per host and level of groups. REQUIRES: two hosts or more, n, whose
/// degrees are at least `blocks` and add up to 2 (n - 1) blocks, as share_degrees() makes them.
HostTrees caterpillars(const std::vector<HostGroup>& groups, const Degrees& degrees);

}  // namespace weir::algorithms
