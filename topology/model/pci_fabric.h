// SPDX-License-Identifier: Apache-2.0
/// PCIe switches that are parts of one: the bytes between them need not go up to the processor.
#pragma once

#include "topology/model/graph.h"

namespace weir::topology {

/// Links the switches of each host that name each other as peers (BridgeFacts::peers), once per pair. Their
/// fabric counts as no limit, as for NCCL. Returns how many pairs there are; peers that are not in the graph
/// do not count.
int join_pci_fabrics(Graph& graph);

}  // namespace weir::topology
