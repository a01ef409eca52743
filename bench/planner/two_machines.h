// SPDX-License-Identifier: Apache-2.0
/// Two machines of a kind, and the network between them.
#pragma once

#include "topology/model/graph.h"

namespace weir::planner_bench {

/// The machine twice, as hosts of their own. Ports with a speed are cabled at that speed, those of one number
/// on both machines to one switch, which nothing joins to the others: a switch per rail.
topology::Graph two_machines(const topology::Graph& machine);

}  // namespace weir::planner_bench
