/// Networks of hosts for tests of plans for many hosts.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/net/network.h"

namespace weir::algorithms {

/// The switches between hosts where all others have a rank beside them.
inline std::vector<char> far_switches(const Network& network) {
  std::vector<char> far(static_cast<size_t>(network.nodes), 1);
  std::vector<char> is_rank(far.size());
  for (const int32_t node : network.rank_nodes) {
    far[static_cast<size_t>(node)] = 0;
    is_rank[static_cast<size_t>(node)] = 1;
  }
  for (const Edge& edge : network.edges) {
    if (is_rank[static_cast<size_t>(edge.from)] != 0) far[static_cast<size_t>(edge.to)] = 0;
  }
  return far;
}

}  // namespace weir::algorithms
