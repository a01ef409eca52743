// SPDX-License-Identifier: Apache-2.0

#include "algorithms/sim/ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "algorithms/sim/flow_routes.h"
#include "src/base/index.h"
#include "topology/model/unions.h"

namespace weir::sim {
namespace {

uint32_t channel_of(const ir::Move& move) { return uint32_t{move.src_lane} * ir::kMaxLanes + move.dst_lane; }

/// Whether connected switches lead from each rank to each other one.
bool switches_join_all(const algorithms::Network& network) {
  std::vector<char> is_rank(at(network.nodes));
  for (const int32_t node : network.rank_nodes) is_rank[at(node)] = 1;
  topology::Unions parts(network.nodes);
  for (const algorithms::Edge& edge : network.edges)
    if (is_rank[at(edge.from)] == 0 && is_rank[at(edge.to)] == 0) parts.join(edge.from, edge.to);
  std::set<std::pair<int32_t, int32_t>> reached;  // part, rank's node
  std::vector<int> ranks(at(network.nodes));      // index: part
  for (const algorithms::Edge& edge : network.edges) {
    if (is_rank[at(edge.from)] == 0 || is_rank[at(edge.to)] != 0) continue;
    const int32_t part = parts.find(edge.to);
    if (reached.emplace(part, edge.from).second) ++ranks[at(part)];
  }
  return std::ranges::count(ranks, network.ranks()) > 0;
}

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

bool needs_forwarding(const ir::Plan& plan, const algorithms::Network& network) {
  if (switches_join_all(network)) return false;
  FlowRoutes routes(network);
  std::set<std::pair<Rank, Rank>> known;
  return std::ranges::any_of(plan.moves, [&](const ir::Move& move) {
    if (move.src == move.dst || !known.emplace(move.src, move.dst).second) return false;
    const auto route = routes.route(move.src, move.dst, channel_of(move), move.way);
    return route.ok() && routes.needs_forwarding(*route);
  });
}

}  // namespace weir::sim
