// SPDX-License-Identifier: Apache-2.0
/// Trees over hosts in which each host has a given average number of neighbours.
///
/// A tree with n hosts has degrees of at least 1 that add up to 2 (n - 1), and all such numbers are the
/// degrees of some tree; as in Pruefer's code (1918), each host is hit once less often than it has
/// neighbours, and all hosts together n - 2 times. Here the hosts are segments of a line, each as long as the
/// number of times it must be hit, and tree x hits those at the points x, x + 1 and so on (systematic
/// sampling). Hosts that are hit form a chain, and the others are leaves beside it: a caterpillar. In the
/// same way groups are links of a chain or leaves beside it, with chains of their own inside. Leaves are
/// attached in their own group as far as there are places, so that a group's border is crossed no more often
/// than the degrees of its hosts require.
///
/// From one tree to the next, points move on, and each point that moves to another host changes a few edges.
/// The transfers are therefore few, whatever the number of trees.
/// Tests: tests/algorithms/free_cluster_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/cluster/cluster_plan.h"
#include "algorithms/cluster/degrees.h"
#include "algorithms/cluster/host_groups.h"

namespace weir::algorithms {

struct HostTrees {
  std::vector<int64_t> first_block;     ///< index: host, and the end; first block rooted there
  std::vector<HostTransfer> transfers;  ///< directed away from roots
};

/// A tree for each block, with a few transfers per host and level of groups. REQUIRES: n >= 2 hosts, whose
/// degrees are at least `blocks` and add up to 2 (n - 1) blocks, as made by share_degrees().
HostTrees caterpillars(const std::vector<HostGroup>& groups, const Degrees& degrees);

}  // namespace weir::algorithms
