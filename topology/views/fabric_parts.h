// SPDX-License-Identifier: Apache-2.0
/// Selects which hosts and switches of a network are drawn as one box: equal ones are folded if drawing all
/// of them would be unreadable.
/// Tests: tests/topology/views_test.cc
#pragma once

#include <vector>

#include "topology/model/graph.h"

namespace weir::topology {

/// Nodes that are drawn as one box.
using Block = std::vector<Index>;

/// Leaves and hosts that are connected without the switches above.
struct Pod {
  std::vector<Block> leaves;
  std::vector<Block> hosts;
  Block nvswitches;    ///< NVSwitches that connect several hosts
  int64_t times = 1;   ///< number of equal pods that it represents
  bool mixed = false;  ///< whether it represents different pods: the rest
};

/// Sums of one host.
struct HostSum {
  int64_t gpus = 0;
  int64_t nics = 0;
  double gb_per_s = 0;  ///< sum over its ports
  int kind = 0;         ///< its class, see host_classes()
};

struct FabricParts {
  std::vector<Pod> pods;
  std::vector<std::vector<Block>> upper;  ///< rows by level; the first row is level 2
  std::vector<int> levels;                ///< index: node; given or counted from the hosts
  std::vector<Index> hosts_of;            ///< index: node; the host that contains it
  std::vector<HostSum> sums;              ///< index: node; valid for hosts
};

FabricParts fabric_parts_of(const Graph& graph);

}  // namespace weir::topology
