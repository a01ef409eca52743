// SPDX-License-Identifier: Apache-2.0

#include "topology/views/traffic.h"

#include <algorithm>

namespace weir::topology {

std::vector<double> busy_shares(const Graph& graph, const LinkTraffic& traffic) {
  std::vector<double> shares(traffic.bytes.size());
  double most = 0;
  for (size_t link = 0; link < shares.size(); ++link) {
    const double speed = graph.links()[link].gb_per_s;
    shares[link] = speed > 0 ? traffic.bytes[link] / speed : 0;
    most = std::max(most, shares[link]);
  }
  if (most > 0)
    for (double& share : shares) share /= most;
  return shares;
}

}  // namespace weir::topology
