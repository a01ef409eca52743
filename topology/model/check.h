// SPDX-License-Identifier: Apache-2.0
/// The conditions that every graph must satisfy.
/// Tests: tests/topology/model_test.cc
#pragma once

#include "src/base/status.h"
#include "topology/model/graph.h"

namespace weir::topology {

/// Success, or the first violation:
///
///   - parents come before their children and may contain that kind of child (a port in a NIC, a GPU below a
///     host ...);
///   - names are unique among siblings of a kind, PCI addresses among the devices of a kind and GPU numbers
///     among the GPUs of one vendor in a host, ranks and the GUIDs of switches in the whole graph;
///   - links connect different existing nodes, are of the right kind for their ends (xGMI connects GPUs ...),
///     have a count of at least 1 and finite, non-negative figures, and each has its reverse;
///   - levels of switches are not negative, and a cable connects switches of neighbouring or equal levels.
///
/// Time: linear in the size of the graph, apart from hashing.
Status check(const Graph& graph);

}  // namespace weir::topology
