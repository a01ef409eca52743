// SPDX-License-Identifier: Apache-2.0
/// What must be true of every graph, whoever made it.
#pragma once

#include "topology/model/graph.h"
#include "weir/status.h"

namespace weir::topology {

/// Success, or the first thing that is wrong:
///
///   - parents come before their children and hold that kind of child (a port in a NIC, a GPU below a host
///   ...);
///   - names are unique among siblings of a kind, PCI addresses among the devices of a kind and GPU numbers
///     within a host, ranks and the GUIDs of switches over all;
///   - links join different nodes that exist, are of the right kind for their ends (xGMI joins GPUs ...),
///   have a
///     count of at least 1 and figures that are finite and not negative, and each has its reverse;
///   - levels of switches are not negative, and a cable joins switches of neighbouring or equal levels.
///
/// Linear in the size of the graph, but for hashing.
Status check(const Graph& graph);

}  // namespace weir::topology
