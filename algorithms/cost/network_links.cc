// SPDX-License-Identifier: Apache-2.0

#include "algorithms/cost/network_links.h"

#include <algorithm>
#include <limits>

#include "algorithms/sim/flow_routes.h"

namespace weir::cost {

std::shared_ptr<const NetworkLinks> NetworkLinks::of(const algorithms::Network& network,
                                                     std::span<const int> host_of) {
  const int places = network.ranks();
  if (places < 2 || places > kMostPlaces) return nullptr;
  auto links = std::make_shared<NetworkLinks>();
  for (const algorithms::Edge& edge : network.edges)
    links->of_edge_.push_back(1 / (static_cast<double>(edge.capacity) * algorithms::kCapacityUnit * 1e9));
  links->fastest_.assign(static_cast<size_t>(places), std::numeric_limits<double>::infinity());
  sim::FlowRoutes routes(network);
  for (Rank src = 0; src < places; ++src) {
    for (Rank dst = 0; dst < places; ++dst) {
      links->first_.push_back(links->edges_.size());
      double& per_byte = links->per_byte_.emplace_back(0);
      if (src == dst) continue;
      const auto route = routes.route(src, dst);
      if (!route.ok()) return nullptr;
      links->edges_.insert(links->edges_.end(), route->begin(), route->end());
      for (const int32_t edge : *route) per_byte = std::max(per_byte, links->of_edge(edge));
      if (host_of[static_cast<size_t>(src)] == host_of[static_cast<size_t>(dst)]) continue;
      for (const Rank end : {src, dst}) {
        double& fastest = links->fastest_[static_cast<size_t>(end)];
        fastest = std::min(fastest, per_byte);
      }
    }
  }
  links->first_.push_back(links->edges_.size());
  std::vector<Rank> firsts;  // of every host
  for (Rank place = 0; place < places; ++place) {
    const auto at = static_cast<size_t>(place);
    if (place == 0 || host_of[at] != host_of[at - 1]) firsts.push_back(place);
  }
  for (size_t i = 0; i < firsts.size(); ++i) {
    const Rank next = firsts[(i + 1) % firsts.size()];
    links->slowest_neighbours_ = std::max(links->slowest_neighbours_, links->per_byte(firsts[i], next));
  }
  return links;
}

}  // namespace weir::cost
