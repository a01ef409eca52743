// SPDX-License-Identifier: Apache-2.0
/// The load that a collective puts on the links of a graph, for pictures that show it.
/// Tests: tests/topology/views_test.cc
#pragma once

#include <vector>

#include "topology/model/graph.h"

namespace weir::topology {

/// A value; empty if nothing is shown.
struct LinkTraffic {
  std::vector<double> bytes;  ///< index: position in Graph::links()

  bool empty() const { return bytes.empty(); }
};

/// For each link the time that it needs for its bytes, relative to that of the busiest link. REQUIRES: as
/// many bytes as the graph has links.
std::vector<double> busy_shares(const Graph& graph, const LinkTraffic& traffic);

}  // namespace weir::topology
