// SPDX-License-Identifier: Apache-2.0

#include "algorithms/planner/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "algorithms/cluster/cluster_trees.h"
#include "algorithms/cluster/direct_parts.h"

namespace weir::algorithms {
namespace {

/// An order whose simulated rate is this part of the packing's is good enough.
constexpr double kEnough = 0.995;
/// Flows that are simulated for one order.
constexpr int64_t kFlowsOfOrder = 60'000;

/// In hosts of more ranks the schedule leaves out direct parts: lanes are too few for the trees of all ranks,
/// so that their moves delay others by more than they gain. Nor do further orders help.
constexpr int kMostRanksOfHost = 16;
constexpr int64_t kFewerFlows = 48;

bool has_large_hosts(const CollectivePlan& plan) {
  for (const auto* half : {&plan.up, &plan.down}) {
    if (!half->has_value()) continue;
    for (const HostShape& shape : (*half)->plan.shapes) {
      if (shape.network.ranks() > kMostRanksOfHost) return true;
    }
  }
  return false;
}

int64_t tree_count(const Packing& packing) {
  return std::accumulate(packing.shares.begin(), packing.shares.end(), int64_t{0});
}

/// Divides both packings' data into the same number of parts (trees).
void make_equal(Packing& a, Packing& b) {
  const int64_t trees_of_a = tree_count(a);
  const int64_t trees_of_b = tree_count(b);
  const int64_t common = std::gcd(trees_of_a, trees_of_b);
  const auto divide = [](Packing& packing, int64_t finer) {
    packing.bandwidth /= finer;
    for (int64_t& share : packing.shares) share *= finer;
    for (Tree& tree : packing.trees) tree.multiplicity *= finer;
  };
  divide(a, trees_of_b / common);
  divide(b, trees_of_a / common);
}

/// Lanes of the rank that uses the most, or channels from a rank to another one if these are more.
int lanes_of(const ir::Plan& plan) {
  int most = 0;
  std::map<std::pair<Rank, Rank>, std::set<std::pair<int, int>>> channels;
  for (const ir::Move& move : plan.moves) {
    most = std::max({most, move.src_lane + 1, move.dst_lane + 1});
    if (move.src != move.dst) channels[{move.src, move.dst}].emplace(move.src_lane, move.dst_lane);
  }
  for (const auto& [ends, between] : channels) most = std::max(most, static_cast<int>(between.size()));
  return most;
}

}  // namespace

Result<PlannedTrees> planned_trees(const CollectivePlan& plan, const Network& network) {
  PlannedTrees trees;
  const bool large = has_large_hosts(plan);
  if (plan.trees.has_value()) {
    if (plan.trees->up) trees.up = plan.trees->up->packing;
    if (plan.trees->down) trees.down = plan.trees->down->packing;
  } else {
    for (const bool up : {false, true}) {
      const auto& half = up ? plan.up : plan.down;
      if (!half.has_value()) continue;
      auto packing =
          spelled_out(up ? reversed(network) : network, large ? without_direct_parts(half->plan) : half->plan,
                      half->plan.free_roots ? plan.time : exactly(half->loads.time));
      WEIR_TRY(packing.status());
      (up ? trees.up : trees.down) = std::move(*packing);
    }
  }
  if (trees.up && trees.down) make_equal(*trees.up, *trees.down);
  return trees;
}

Result<Schedule> schedule(const CollectivePlan& plan, const Network& network, double bytes,
                          const sim::Channels& channels, int64_t most_flows, int most_lanes) {
  const auto trees = planned_trees(plan, network);
  WEIR_TRY(trees.status());
  if (has_large_hosts(plan)) most_flows /= kFewerFlows;
  const double limit = bytes / kCapacityUnit / 1e9 * plan.time.convert_to<double>();
  std::optional<Schedule> best;
  Status refused;
  int64_t flows = 0;
  for (const MoveOrder& order : move_orders(trees->halves(), most_lanes)) {
    auto moves = plan_with(plan.collective, trees->halves(), order);
    if (!moves.ok()) {
      refused = moves.status();
      continue;
    }
    if (const int lanes = lanes_of(*moves); lanes > most_lanes) {
      refused =
          Status(Code::invalid_argument,
                 fmt::format("the plan uses {} lanes of a rank, or channels between two: expected at most {}",
                             lanes, most_lanes));
      continue;
    }
    sim::FlowRoutes routes(network);
    auto prediction =
        sim::simulate(*moves, bytes, network, routes, channels, std::min(kFlowsOfOrder, most_flows / 4));
    WEIR_TRY(prediction.status());
    flows += prediction->flows;
    if (!best || prediction->seconds < best->prediction.seconds)
      best = Schedule{std::move(*moves), std::move(*prediction)};
    if (best->prediction.seconds * kEnough <= limit || flows >= most_flows) break;
  }
  if (best) return std::move(*best);
  return refused;
}

}  // namespace weir::algorithms
