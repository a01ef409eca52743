// SPDX-License-Identifier: Apache-2.0
/// PCIe switches that form one fabric: traffic between them does not pass the processor.
/// Tests: tests/topology/nccl_xml_test.cc, tests/topology/detect_test.cc
#pragma once

#include "topology/model/graph.h"

namespace weir::topology {

/// Links the switches of each host that list each other as peers (BridgeFacts::peers), once per pair. Their
/// fabric counts as no limit, as in NCCL. Returns the number of pairs; peers that are not in the graph are
/// ignored.
int join_pci_fabrics(Graph& graph);

}  // namespace weir::topology
