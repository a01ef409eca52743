// SPDX-License-Identifier: Apache-2.0
/// A graph as an indented tree, as lstopo prints a machine, with speeds; below it the nearest NICs of each
/// GPU, and the switches of the network.
/// Tests: tests/topology/views_text_test.cc, tests/topology/machines_test.cc
#pragma once

#include <string>

#include "topology/model/graph.h"

namespace weir::topology {

/// Hosts that differ only in names are printed once.
std::string tree_of(const Graph& graph);

}  // namespace weir::topology
