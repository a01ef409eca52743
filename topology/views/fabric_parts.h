// SPDX-License-Identifier: Apache-2.0
/// What of a network is drawn as one box: hosts and switches that are alike are folded where all of them
/// would be too many to read.
#pragma once

#include <vector>

#include "topology/model/graph.h"

namespace weir::topology {

/// Nodes that are drawn as one box.
using Block = std::vector<Index>;

/// Leaves and hosts that hang together without the switches above.
struct Pod {
  std::vector<Block> leaves;
  std::vector<Block> hosts;
  Block nvswitches;    ///< that join several hosts
  int64_t times = 1;   ///< it stands for so many that are alike
  bool mixed = false;  ///< it stands for what is not alike: the rest
};

/// What counts of a host.
struct HostSum {
  int64_t gpus = 0;
  int64_t nics = 0;
  double gb_per_s = 0;  ///< of its ports
  int kind = 0;         ///< its class, see host_classes()
};

struct FabricParts {
  std::vector<Pod> pods;
  std::vector<std::vector<Block>> upper;  ///< by level: the first row is level 2
  std::vector<int> levels;                ///< by node: of switches, counted from the hosts where not given
  std::vector<Index> hosts_of;            ///< by node
  std::vector<HostSum> sums;              ///< by node: of hosts
};

FabricParts fabric_parts_of(const Graph& graph);

}  // namespace weir::topology
