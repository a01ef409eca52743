// SPDX-License-Identifier: Apache-2.0
/// Nested groups of hosts, as a tree.
/// Tests: tests/algorithms/free_cluster_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/cluster/hosts.h"

namespace weir::algorithms {

/// Hosts `first` to `last - 1`: a single one, or at least two children.
struct HostGroup {
  int32_t first = 0;
  int32_t last = 0;
  int32_t parent = -1;            ///< index of the parent group
  int64_t border = 0;             ///< capacity across it, the lesser of both directions; 0: ignored
  std::vector<int32_t> children;  ///< in the order of their hosts
};

/// The groups of a cluster. A host's group has the host's number; other groups come after their children, and
/// the last one contains all hosts.
std::vector<HostGroup> host_groups(const Cluster& cluster);

}  // namespace weir::algorithms
