// SPDX-License-Identifier: Apache-2.0
/// Trees that use PCIe only between GPUs and the nearest NICs.
///
/// Moves between GPUs of one host take NVLink or xGMI, and moves between hosts the nearest NICs. Trees that
/// cross a host over its PCIe switches and NUMA nodes therefore meet other loads than they were packed for.
/// Tests: tests/algorithms/planner_test.cc
#pragma once

#include <optional>

#include "algorithms/network/network.h"
#include "algorithms/planner/tree_planner.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// A network without some of the edges of another one.
struct NetworkPart {
  Network network;
  std::vector<int32_t> edge_of;  ///< index: edge; that of the whole network
};

/// The network without the links between PCIe switches, root complexes and NUMA nodes. Nothing if it has
/// none, or if some ranks could not reach all others without them. Pure.
std::optional<NetworkPart> nearest_nics_only(const Network& network);

/// plan_trees() in the part of a network: routes are those in the whole one, whose bound is `bound`. Pure.
Result<TreePlan> plan_trees_in(const NetworkPart& part, const Bound& bound, const PackingGoal& goal);

}  // namespace weir::algorithms
