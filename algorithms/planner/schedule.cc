// SPDX-License-Identifier: Apache-2.0

#include "algorithms/planner/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "algorithms/cluster/cluster_trees.h"
#include "algorithms/cluster/direct_parts.h"
#include "algorithms/ir/relabel.h"

namespace weir::algorithms {
namespace {

/// An order whose simulated rate is this part of the packing's is good enough.
constexpr double kEnough = 0.99;
/// Where it is below this part, fewer trees are tried: they need fewer lanes.
constexpr double kClose = 0.95;
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

/// Simulates orders of moves, and keeps the fastest one.
class Search {
 public:
  Search(const Network& network, double bytes, const sim::Channels& channels, int64_t most_flows,
         int most_lanes)
      : network_(network),
        without_latencies_(network),
        bytes_(bytes),
        channels_(channels),
        most_flows_(most_flows),
        most_lanes_(most_lanes) {
    without_latencies_.latencies.clear();
  }

  /// Of the fastest order so far. REQUIRES: there is one.
  double seconds() const { return best_->prediction.seconds; }
  /// The least that the loads of the links allow.
  double limit(const CollectivePlan& plan) const {
    return bytes_ / kCapacityUnit / 1e9 * plan.time.convert_to<double>();
  }

  /// Errors: those of schedule(); there is an order afterwards.
  Status try_orders(const CollectivePlan& plan) {
    const auto trees = planned_trees(plan, network_);
    WEIR_TRY(trees.status());
    const int64_t most_flows = has_large_hosts(plan) ? most_flows_ / kFewerFlows : most_flows_;
    tried_.clear();
    Status refused;
    int64_t flows = 0;
    double least_added = std::numeric_limits<double>::infinity();
    for (const MoveOrder& order : move_orders(trees->halves(), most_lanes_)) {
      auto moves = moves_in(order, plan.collective, *trees);
      if (!moves.ok()) {
        refused = moves.status();
        continue;
      }
      const auto tried = tried_with(std::move(*moves), std::min(sim::kFewFlows, most_flows / 4));
      WEIR_TRY(tried.status());
      flows += (*tried)->flows;
      least_added = std::min(least_added, (*tried)->added);
      if ((seconds() - least_added) * kEnough <= limit(plan) || flows >= most_flows) break;
    }
    return best_ ? Status() : refused;
  }

  Schedule take() {
    best_->orders = simulated_;
    return std::move(*best_);
  }

 private:
  /// What the simulation of an order told.
  struct Tried {
    ir::Plan form;  ///< equal for orders that take equal times
    int64_t flows = 0;
    double added = 0;  ///< by latencies, in seconds
  };

  /// Orders often give the same moves in lanes with other numbers: these are simulated once. Lanes keep their
  /// numbers where channels are paced, since the pace of a channel depends on them.
  ir::Plan form_of(const ir::Plan& moves) const {
    return channels_.paced ? moves : ir::with_lanes_in_order_of_use(moves);
  }

  /// Simulates the moves, unless equal ones were, and keeps them if they are the fastest so far.
  Result<const Tried*> tried_with(ir::Plan moves, int64_t most_flows) {
    ir::Plan form = form_of(moves);
    if (const auto known = std::ranges::find(tried_, form, &Tried::form); known != tried_.end())
      return &*known;
    sim::FlowRoutes routes(network_);
    auto prediction = sim::simulate(moves, bytes_, network_, routes, channels_, most_flows);
    WEIR_TRY(prediction.status());
    const auto added = added_by_latencies(moves);
    WEIR_TRY(added.status());
    tried_.push_back({std::move(form), prediction->flows, *added});
    if (!best_ || prediction->seconds < seconds()) best_ = Schedule{std::move(moves), std::move(*prediction)};
    ++simulated_;
    return &tried_.back();
  }

  /// Seconds by which latencies lengthen the first pass. No order saves them; those of later passes overlap
  /// with data.
  Result<double> added_by_latencies(const ir::Plan& moves) const {
    if (network_.latencies.empty() && channels_.alpha == 0 && channels_.hop_latency == 0) return 0.0;
    const sim::Tiling tiling = sim::tile(moves, bytes_, channels_);
    const double bytes = tiling.passes > 1 ? bytes_ * tiling.tile_bytes / tiling.chunk_bytes : bytes_;
    sim::Channels without = channels_;
    without.alpha = without.hop_latency = 0;
    const auto slow = sim::simulate(moves, bytes, network_, channels_);
    WEIR_TRY(slow.status());
    const auto quick = sim::simulate(moves, bytes, without_latencies_, without);
    WEIR_TRY(quick.status());
    // Less than nothing where flows that latencies keep apart would share links less well.
    return std::max(slow->seconds - quick->seconds, 0.0);
  }

  Result<ir::Plan> moves_in(const MoveOrder& order, Collective collective, const PlannedTrees& trees) const {
    auto moves = plan_with(collective, trees.halves(), order);
    WEIR_TRY(moves.status());
    if (const int lanes = lanes_of(*moves); lanes > most_lanes_) {
      return Status(
          Code::invalid_argument,
          fmt::format("the plan uses {} lanes of a rank, or channels between two: expected at most {}", lanes,
                      most_lanes_));
    }
    return moves;
  }

  const Network& network_;
  Network without_latencies_;
  const double bytes_;
  const sim::Channels& channels_;
  const int64_t most_flows_;
  const int most_lanes_;
  std::optional<Schedule> best_;
  std::vector<Tried> tried_;  // orders of the plan that is tried
  int simulated_ = 0;         // orders of all plans
};

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
  Search search(network, bytes, channels, most_flows, most_lanes);
  WEIR_TRY(search.try_orders(plan));
  return search.take();
}

Result<Schedule> schedule_fewer(CollectivePlan& plan, const Network& network, double bytes,
                                const sim::Channels& channels, int64_t most_flows, int most_lanes) {
  Search search(network, bytes, channels, most_flows, most_lanes);
  WEIR_TRY(search.try_orders(plan));
  if (network.ranks() > kMostFlatRanks || search.seconds() * kClose <= search.limit(plan))
    return search.take();
  for (const int trees_per_root : {1, 2}) {  // two may be faster than one that keeps its links busy
    const PackingGoal goal{.optimal_trees = trees_per_root, .enough = 1, .most_trees = trees_per_root};
    auto trees = plan_trees(network, plan.collective, plan.root, goal);
    if (!trees.ok()) continue;
    CollectivePlan fewer = of_trees(std::move(*trees));
    const double before = search.seconds();
    if (search.limit(fewer) >= before) continue;
    WEIR_TRY(search.try_orders(fewer));
    if (search.seconds() < before) plan = std::move(fewer);
  }
  return search.take();
}

}  // namespace weir::algorithms
