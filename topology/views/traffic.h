// SPDX-License-Identifier: Apache-2.0
/// What a collective puts on the links of a graph, for pictures that show it.
#pragma once

#include <vector>

#include "topology/model/graph.h"

namespace weir::topology {

/// A value; empty where nothing is to be shown.
struct Traffic {
  std::vector<double> bytes;  ///< by place in Graph::links()

  bool empty() const { return bytes.empty(); }
};

/// By link: seconds that it needs for its bytes, as a share of those of the busiest. REQUIRES: as many bytes
/// as the graph has links.
std::vector<double> busy_shares(const Graph& graph, const Traffic& traffic);

}  // namespace weir::topology
