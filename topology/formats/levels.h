// SPDX-License-Identifier: Apache-2.0
/// Levels of switches, the same way for every format that does not give them.
#pragma once

#include "topology/model/graph.h"

namespace weir::topology {

/// Gives every switch of the network (NodeKind::fabric_switch) a level: 1 to a leaf, which has a link to
/// something that is no such switch; to others 1 + the number of links to the nearest leaf. A switch that
/// reaches no leaf has level 1: nothing can be below it.
void assign_levels(Graph& graph);

}  // namespace weir::topology
