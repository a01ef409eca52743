// SPDX-License-Identifier: Apache-2.0

#include "algorithms/sim/plan_loads.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::sim {

Result<PlanLoads> loads_of(const ir::Plan& plan, const Network& network, FlowRoutes& routes) {
  if (plan.shape.ranks != network.ranks()) {
    return Status(Code::invalid_argument,
                  fmt::format("a plan for {} ranks on a network of {}: expected equal numbers",
                              plan.shape.ranks, network.ranks()));
  }
  PlanLoads loads;
  loads.chunks.resize(network.edges.size());
  for (const ir::Move& move : plan.moves) {
    if (move.src == move.dst) continue;
    const auto route =
        routes.route(move.src, move.dst, uint32_t{move.src_lane} * ir::kMaxLanes + move.dst_lane, move.way);
    WEIR_TRY(route.status());
    for (const int32_t edge : *route) loads.chunks[static_cast<size_t>(edge)] += move.chunks;
  }
  int64_t blocks = 1;
  for (Rank rank = 0; rank < plan.shape.ranks; ++rank)
    blocks = std::max<int64_t>({blocks, input_blocks(plan.shape, rank), output_blocks(plan.shape, rank)});
  loads.whole = blocks * plan.shape.chunks;
  for (size_t edge = 0; edge < loads.chunks.size(); ++edge) {
    const auto capacity = algorithms::Int128{network.edges[edge].capacity} * loads.whole;
    const algorithms::Ratio time(loads.chunks[edge], capacity);
    if (time <= loads.time) continue;
    loads.time = time;
    loads.tightest = static_cast<int32_t>(edge);
  }
  return loads;
}

}  // namespace weir::sim
