// SPDX-License-Identifier: Apache-2.0
/// Two machines of one kind, and the network between them.
#pragma once

#include "topology/model/graph.h"

namespace weir::planner_bench {

/// The machine twice, as two hosts. Ports with a speed are connected at that speed; ports of equal number on
/// both machines connect to one switch, and switches are not connected with each other (a switch per rail).
topology::Graph two_machines(const topology::Graph& machine);

}  // namespace weir::planner_bench
