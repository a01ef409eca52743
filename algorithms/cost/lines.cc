#include "algorithms/cost/lines.h"

#include <algorithm>
#include <limits>

#include "algorithms/sim/routes.h"

namespace weir::cost {

std::shared_ptr<const Lines> Lines::of(const algorithms::Network& network) {
  const int places = network.ranks();
  if (places < 2 || places > kMostPlaces) return nullptr;
  auto lines = std::make_shared<Lines>();
  for (const algorithms::Edge& edge : network.edges)
    lines->of_edge_.push_back(1 / (static_cast<double>(edge.capacity) * algorithms::kCapacityUnit * 1e9));
  lines->fastest_.assign(static_cast<size_t>(places), std::numeric_limits<double>::infinity());
  sim::Routes routes(network);
  for (Rank src = 0; src < places; ++src) {
    for (Rank dst = 0; dst < places; ++dst) {
      lines->first_.push_back(lines->edges_.size());
      double& per_byte = lines->per_byte_.emplace_back(0);
      if (src == dst) continue;
      const auto route = routes.route(src, dst);
      if (!route.ok()) return nullptr;
      lines->edges_.insert(lines->edges_.end(), route->begin(), route->end());
      for (const int32_t edge : *route) per_byte = std::max(per_byte, lines->of_edge(edge));
      for (const Rank end : {src, dst}) {
        double& fastest = lines->fastest_[static_cast<size_t>(end)];
        fastest = std::min(fastest, per_byte);
      }
    }
  }
  lines->first_.push_back(lines->edges_.size());
  for (Rank place = 0; place < places; ++place)
    lines->slowest_neighbours_ =
        std::max(lines->slowest_neighbours_, lines->per_byte(place, (place + 1) % places));
  return lines;
}

}  // namespace weir::cost
