// SPDX-License-Identifier: Apache-2.0
/// Connects NVSwitches with each other, which no description of a machine lists.
/// Tests: tests/topology/nccl_xml_test.cc, tests/topology/hwloc_graph_test.cc
#pragma once

#include "topology/model/graph.h"

namespace weir::topology {

/// Connects the NVSwitches of each host that form several groups with their GPUs (the two boards of a DGX-2),
/// because NVSwitches of one host are one fabric. The switches of each further group are connected one by one
/// to those of the first, with as many links as lead to GPUs, so that these links are no bottleneck. Groups
/// that are already connected are unchanged.
void join_nvswitches(Graph& graph);

}  // namespace weir::topology
