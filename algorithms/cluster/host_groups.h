// SPDX-License-Identifier: Apache-2.0
/// Hosts in groups within groups, as a tree.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/cluster/hosts.h"

namespace weir::algorithms {

/// Hosts `first` to `last - 1`: a single one, or two children and more.
struct HostGroup {
  int32_t first = 0;
  int32_t last = 0;
  int32_t parent = -1;            ///< numbers of groups
  int64_t border = 0;             ///< capacity across it, the lesser of both directions; 0: does not count
  std::vector<int32_t> children;  ///< in the order of their hosts
};

/// Groups of a cluster. A host's group has the host's number; others come after their children, and the last
/// one holds all hosts.
std::vector<HostGroup> host_groups(const Cluster& cluster);

}  // namespace weir::algorithms
