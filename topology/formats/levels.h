// SPDX-License-Identifier: Apache-2.0
/// Computes levels of switches for all formats that do not give them.
/// Tests: tests/topology/levels_test.cc
#pragma once

#include "topology/model/graph.h"

namespace weir::topology {

/// Assigns a level to every switch of the network (NodeKind::fabric_switch): 1 to a leaf, which has a link to
/// a node that is not such a switch; 1 + the number of links to the nearest leaf to others. A switch that
/// reaches no leaf has level 1, because nothing can be below it.
void assign_levels(Graph& graph);

}  // namespace weir::topology
