// SPDX-License-Identifier: Apache-2.0

#include "algorithms/catalogue/planned.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "algorithms/bound/bound.h"
#include "algorithms/catalogue/catalogue.h"
#include "algorithms/planner/planner.h"
#include "algorithms/planner/schedule.h"
#include "algorithms/sim/plan_loads.h"
#include "algorithms/sim/simulate.h"

namespace weir::algorithms {
namespace {

using ir::Operand;

/// A size at which bandwidth counts, and channels between hosts as communicators open them.
constexpr double kLongMessage = 64 << 20;
/// Simulated to order the moves: about 30 ms of CPU time.
constexpr int64_t kMostFlows = 30'000;
constexpr sim::Channels kChannels{.slot_bytes = 256 << 10, .slots = 4};

/// Where rings come so close to the bound, nothing is planned: they keep their order of sums, and need fewer
/// channels.
const Rational kCloseToBound(95, 100);

std::vector<ir::Plan> rings_for(Collective kind, const Layout& layout) {
  const int ranks = layout.network->ranks();
  std::vector<ir::Plan> rings;
  for (const std::string_view algorithm : {"ring", "hierarchical"}) {
    const uint32_t chunks = default_chunks(*find(algorithm, kind), ranks, layout);
    auto plan = emit(algorithm, {kind, ranks, 0, chunks}, layout);
    if (plan.ok()) rings.push_back(std::move(*plan));
  }
  return rings;
}

/// A plan that puts less load on its most loaded link than rings do.
std::optional<CollectivePlan> better_than(const std::vector<ir::Plan>& rings, Collective kind,
                                          const Layout& layout, std::span<const char> between_hosts) {
  const auto bound = lower_bound(*layout.network, kind);
  if (!bound.ok()) return std::nullopt;
  std::optional<Rational> least;
  for (const ir::Plan& ring : rings) {
    sim::FlowRoutes routes(*layout.network);
    const auto loads = sim::loads_of(ring, *layout.network, routes);
    if (loads.ok() && (!least || exactly(loads->time) < *least)) least = exactly(loads->time);
  }
  if (least && *least * kCloseToBound <= exactly(bound->time)) return std::nullopt;
  auto plan = plan_collective(*layout.network, between_hosts, kind);
  if (!plan.ok() || (least && *least <= plan->time)) return std::nullopt;
  return std::move(*plan);
}

/// Whether the moves of the plan, in their order and on their lanes, also take less time.
bool is_faster(const Schedule& schedule, const std::vector<ir::Plan>& rings, const Network& network) {
  return std::ranges::none_of(rings, [&](const ir::Plan& ring) {
    sim::FlowRoutes routes(network);
    const auto run = sim::simulate(ring, kLongMessage, network, routes, kChannels, kMostFlows);
    return run.ok() && run->seconds <= schedule.prediction.seconds;
  });
}

std::vector<ir::Plan> plans_of(const Layout& layout, std::span<const char> between_hosts, int most_lanes) {
  std::vector<ir::Plan> plans;
  for (const auto kind : {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather}) {
    const std::vector<ir::Plan> rings = rings_for(kind, layout);
    auto best = better_than(rings, kind, layout, between_hosts);
    if (!best) continue;
    auto moves = schedule_fewer(*best, *layout.network, kLongMessage, kChannels, kMostFlows, most_lanes);
    if (!moves.ok() || !is_faster(*moves, rings, *layout.network)) continue;
    moves->plan.algorithm = "planned";
    plans.push_back(std::move(moves->plan));
  }
  return plans;
}

/// Divides every chunk into `times` chunks.
ir::Plan refined(ir::Plan plan, uint32_t times) {
  plan.shape.chunks *= times;
  plan.scratch_chunks *= times;
  for (ir::Move& move : plan.moves) {
    move.chunks *= times;
    for (Operand* operand : {&move.from, &move.with, &move.to})
      if (operand->in_memory()) operand->index *= times;
  }
  return plan;
}

}  // namespace

void join(Layout& layout, Network by_rank, std::span<const char> between_hosts, int most_lanes,
          const SharePlans& share) {
  const std::vector<int32_t> nodes = by_rank.rank_nodes;
  for (size_t place = 0; place < nodes.size(); ++place)
    by_rank.rank_nodes[place] = nodes[static_cast<size_t>(layout.order[place])];
  layout.network = std::move(by_rank);
  layout.plans = nullptr;
  const int ranks = layout.network->ranks();
  if (ranks < 2 || ranks > kMostPlannedRanks || layout.network->edges.size() > kMostPlannedEdges) return;
  const auto make = [&] { return plans_of(layout, between_hosts, most_lanes); };
  layout.plans = share ? share(make) : std::make_shared<const std::vector<ir::Plan>>(make());
}

const ir::Plan* planned_for(Collective kind, int ranks, const Layout& layout) {
  if (layout.plans == nullptr) return nullptr;
  const auto plan = std::ranges::find_if(*layout.plans, [&](const ir::Plan& each) {
    return each.shape.kind == kind && each.shape.ranks == ranks;
  });
  return plan == layout.plans->end() ? nullptr : &*plan;
}

Result<ir::Plan> planned(const ir::Shape& shape, const Layout& layout) {
  if (const ir::Plan* plan = planned_for(shape.kind, shape.ranks, layout))
    return refined(*plan, shape.chunks / plan->shape.chunks);
  return Status(Code::invalid_argument,
                fmt::format("no plan was computed for {} ranks: expected 2 to {} ranks on a network whose "
                            "bandwidths are known, and on which rings are not optimal",
                            shape.ranks, kMostPlannedRanks));
}

}  // namespace weir::algorithms
