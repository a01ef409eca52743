// SPDX-License-Identifier: Apache-2.0

#include "algorithms/sim/ways.h"

#include <fmt/format.h>

#include "algorithms/sim/flow_routes.h"

namespace weir::sim {
namespace {

uint32_t channel_of(const ir::Move& move) { return uint32_t{move.src_lane} * ir::kMaxLanes + move.dst_lane; }

}  // namespace

Status name_ways(ir::Plan& plan, const algorithms::Network& network) {
  FlowRoutes routes(network);
  for (ir::Move& move : plan.moves) {
    if (move.src == move.dst) continue;
    const auto route = routes.route(move.src, move.dst, channel_of(move));
    WEIR_TRY(route.status());
    move.way = routes.way_of(*route);
  }
  return {};
}

Status check_ways(const ir::Plan& plan, const algorithms::Network& network) {
  FlowRoutes routes(network);
  for (size_t number = 0; number < plan.moves.size(); ++number) {
    const ir::Move& move = plan.moves[number];
    if (move.src == move.dst || move.way == ir::MoveWay::any) continue;
    const auto route = routes.route(move.src, move.dst, channel_of(move), move.way);
    if (!route.ok())
      return {Code::invalid_argument, fmt::format("move {} goes by {}, but {} in this topology", number,
                                                  name(move.way), route.status().message())};
  }
  return {};
}

}  // namespace weir::sim
